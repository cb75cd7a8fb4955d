"""Where between DQ and Q, with constants as branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from onnx import ModelProto

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid

GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
A = Grid(scale=0.031, zero_point=11)
Y = Grid(scale=0.05, zero_point=77)
FUSED = f"{MS}::QLinearWhere"


def where(a: Grid | ArrayLike, b: Grid | ArrayLike, y: Grid = Y, opset: int = 19) -> ModelProto:
    """A branch is a quantized graph input, or a constant."""
    builder = Builder(opset)
    condition = builder.input("condition", "bool", (3, 4))
    branches = [
        builder.dq(builder.input(name, branch.type, (3, 4)), branch)
        if isinstance(branch, Grid)
        else builder.constant(branch, "f32")
        for name, branch in (("a", a), ("b", b))
    ]
    builder.q(builder.node("Where", [condition, *branches]), y, builder.output("y", y.type))
    return builder.model()


def cases(*types: str) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    dtypes = {"u8": np.uint8, "i8": np.int8}
    codes = {
        name: rng.integers(np.iinfo(dtypes[t]).min, 128, (3, 4)).astype(dtypes[t])
        for name, t in zip("ab", types, strict=True)
        if t
    }
    return [codes | {"condition": rng.integers(0, 2, (3, 4)).astype(bool)}]


CONSTANTS: list[ArrayLike] = [
    0.0, 1.2345, -1e30, np.inf, [-0.725], [0.4, -0.4, 0.025, 3.0], [[1.0], [2.0], [-3.85]]
]  # fmt: skip


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("opset", [10, 13, 19, 22])
def test_a_constant_branch(constant: ArrayLike, opset: int) -> None:
    right, left = where(A, constant, opset=opset), where(constant, A, opset=opset)
    assert_rewritten(right, GONE | {FUSED: 1, "Where": 0}, 0, feeds=cases("u8", ""))
    assert_rewritten(left, GONE | {FUSED: 1, "Where": 0}, 0, feeds=cases("", "u8"))


@pytest.mark.parametrize("constant", CONSTANTS)
def test_on_one_grid_codes_are_picked(constant: ArrayLike) -> None:
    for pack, op in (("onnx", "Where"), ("ort-cpu", FUSED)):
        counts = GONE | {op: 1}
        assert_rewritten(where(Y, constant), counts, 0, pack=pack, feeds=cases("u8", ""))
        assert_rewritten(where(constant, Y), counts, 0, pack=pack, feeds=cases("", "u8"))


def test_both_branches() -> None:
    assert_rewritten(where(Y, Y), GONE | {"Where": 1}, 0, pack="onnx", feeds=cases("u8", "u8"))
    assert_rewritten(where(A, Y), GONE | {FUSED: 1}, 0, feeds=cases("u8", "u8"))
    assert_rewritten(where(1.0, [-2.0]), GONE | {"Where": 1}, 0, feeds=cases("", ""))


def test_a_mask_of_the_lowest_number() -> None:
    y = Grid(scale=1.334440e36, zero_point=255)
    lowest = float(np.finfo(np.float32).min)
    assert_rewritten(where(0.0, lowest, y), GONE | {"Where": 1}, 0, feeds=cases("", ""))
    assert_rewritten(where(A, lowest, y), GONE | {FUSED: 1}, 0, feeds=cases("u8", ""))


@pytest.mark.parametrize(
    ("a", "b", "y"),
    [
        (A, np.nan, Y),
        (A, [0.0, np.nan, 1.0, 2.0], Y),
        (A, 1.0, Grid("i8", 0.05, 3)),
        (A, 1.0, Grid(scale=0.0, zero_point=3)),
        (Grid(scale=[0.1, 0.2, 0.3, 0.4], zero_point=3, axis=1), 1.0, Y),
    ],
    ids=["nan", "one_nan", "types", "scale_0", "per_axis"],
)
def test_near_misses(a: Grid, b: ArrayLike, y: Grid) -> None:
    assert_rewritten(where(a, b, y), {"Where": 1, FUSED: 0}, 0, feeds=cases("u8", ""))
