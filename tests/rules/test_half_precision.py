"""Scales in float16: what only moves or orders codes works on them, kernels take float32 alone."""

from __future__ import annotations

import numpy as np
import pytest

from .checks import assert_rewritten, operations
from .graphs import MS, Builder, Grid
from .islands import ISLANDS, MOVEMENT, assert_island, island

CHOICE = {"MaxPool", "ReduceMax", "ReduceMin", "ArgMax"}


@pytest.mark.parametrize("name", ISLANDS)
@pytest.mark.parametrize("grid", [Grid("u8", 0.05, 3), Grid("i8", 0.3, -7)], ids=["u8", "i8"])
def test_islands(name: str, grid: Grid) -> None:
    model = island(name, grid, grid, floats="f16")
    if name.split()[0] in ("MatMul", "Gemm"):  # the weight alone
        kept = operations(model)["DequantizeLinear"] - 1
        counts = {f"{MS}::MatMulNBits": 1, "DequantizeLinear": kept}
        assert_rewritten(model, counts, feeds=[])
    else:
        scale = float(np.float16(grid.scale))
        assert_island(name, model, scale, fused=name in MOVEMENT | CHOICE)


def transposed(grid: Grid) -> Builder:
    b = Builder(21, scale_type="f16")
    v = b.node("Transpose", [b.dq(b.input("x", grid.type, (16, 16)), grid)])
    b.q(v, grid, b.output("y", grid.type))
    return b


@pytest.mark.parametrize("scale", [7e-5, 0.001, 0.333, 1.0, 255.0, 256.0, -0.333])
@pytest.mark.parametrize("zero_point", [0, 128, 255])
def test_every_code_comes_back(scale: float, zero_point: int) -> None:
    codes = {"x": np.arange(256, dtype=np.uint8).reshape(16, 16)}
    model = transposed(Grid("u8", scale, zero_point)).model()
    assert_rewritten(model, {"Transpose": 1, "DequantizeLinear": 0}, feeds=[codes])


@pytest.mark.parametrize(
    "grid",
    [
        Grid("u8", 300.0, 0),
        Grid("u8", 0.0, 0),
        Grid("u8", np.nan, 0),
        Grid("u16", 0.05, 0),
        Grid("i16", 0.05, 3),
    ],
    ids=["overflow", "zero", "nan", "u16", "i16"],
)
def test_grids_that_lose_codes_stay(grid: Grid) -> None:
    model = transposed(grid).model()
    assert_rewritten(model, {"Transpose": 1, "DequantizeLinear": 1, "QuantizeLinear": 1})
