"""Ops that move or pick elements work on codes where both sides have one grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from .checks import assert_rewritten, run
from .graphs import MS, Builder, Grid, unary

GONE = {
    "DequantizeLinear": 0,
    "QuantizeLinear": 0,
    f"{MS}::DequantizeLinear": 0,
    f"{MS}::QuantizeLinear": 0,
}
G = Grid(scale=0.05, zero_point=7)
SHAPE = (2, 4, 4, 4)


def i64(*values: int) -> tuple[list[int], str]:
    return list(values), "i64"


OPS: dict[str, dict[str, Any]] = {
    "Reshape": {"extra": [i64(4, 32)]},
    "Flatten": {"axis": 2},
    "Transpose": {"perm": [3, 1, 0, 2]},
    "Squeeze": {"shape": (1, 4, 1, 4), "extra": [i64(0, 2)]},
    "Unsqueeze": {"extra": [i64(0, 2)]},
    "Expand": {"extra": [i64(3, 2, 4, 4, 4)]},
    "Tile": {"extra": [i64(1, 2, 1, 3)]},
    "Slice": {"extra": [i64(0, 1), i64(1, 3), i64(0, 1)]},
    "Gather": {"extra": [i64(1, 0, 1)], "axis": 1},
    "GatherElements": {"extra": [(np.zeros((1, 4, 4, 4), np.int64), "i64")]},
    "DepthToSpace": {"blocksize": 2},
    "SpaceToDepth": {"blocksize": 2},
}
EIGHT_BIT_KERNELS = {"DepthToSpace", "SpaceToDepth"}


def moved(
    op: str, x: Grid = G, y: Grid | None = None, opset: int = 19, domain: str = ""
) -> ModelProto:
    return unary(op, x, y or x, **({"shape": SHAPE, "opset": opset, "domain": domain} | OPS[op]))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "grid",
    [
        G,
        Grid("i8", 0.05, -3),
        Grid(zero_point=None),
        Grid("i8", 0.05, None, None),
        Grid(scale=-0.5, zero_point=9),
        Grid(scale=[0.1], zero_point=[4]),
    ],
    ids=["u8", "i8", "no_zero_point", "i8_no_zero_point", "negative_scale", "scale_of_one_element"],
)
def test_works_on_codes(op: str, grid: Grid) -> None:
    if grid.type == "i8" and grid.zero_point is None:
        # the quantizer without a zero point makes uint8: another grid
        y = Grid("i8", 0.05, 0)
        assert_rewritten(moved(op, grid, y), GONE | {op: 1})
    else:
        assert_rewritten(moved(op, grid), GONE | {op: 1})


@pytest.mark.parametrize("op", sorted(set(OPS) - EIGHT_BIT_KERNELS))
@pytest.mark.parametrize("type", ["u16", "i16"])
def test_16_bit_codes(op: str, type: str) -> None:
    grid = Grid(type, 0.001, 3)
    assert_rewritten(moved(op, grid, opset=21), GONE | {op: 1})
    assert_rewritten(moved(op, grid, opset=17, domain=MS), GONE | {op: 1})


@pytest.mark.parametrize("op", ["Reshape", "Transpose", "Slice", "Flatten"])
@pytest.mark.parametrize("opset", [13, 23])
def test_other_opsets(op: str, opset: int) -> None:
    assert_rewritten(moved(op, opset=opset), GONE | {op: 1})


@pytest.mark.parametrize("op", ["Reshape", "Gather"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (G, Grid(scale=0.05000001, zero_point=7)),
        (G, Grid(scale=0.05, zero_point=8)),
        (G, Grid("i8", 0.05, 7)),
        (Grid("i8", 0.05, None), Grid("u8", 0.05, None)),
        (Grid(scale=0.0), Grid(scale=0.0)),
        (Grid(scale=np.nan), Grid(scale=np.nan)),
        (Grid(scale=1e38), Grid(scale=1e38)),
    ],
    ids=["scale", "zero_point", "type", "i8_beside_default_u8", "zero", "nan", "overflow"],
)
def test_other_grids_stay(op: str, x: Grid, y: Grid) -> None:
    counts = {op: 1, "DequantizeLinear": 1, "QuantizeLinear": 1}
    assert_rewritten(moved(op, x, y), counts, requantize=False)


def test_one_scale_a_channel_stays() -> None:
    grid = Grid(scale=[0.1, 0.2, 0.3, 0.4], zero_point=1, axis=1)
    model = unary("Transpose", grid, grid, shape=SHAPE, perm=[2, 1, 0, 3])
    assert_rewritten(model, {"Transpose": 1, "DequantizeLinear": 1, "QuantizeLinear": 1})


def test_quantized_indices_are_not_taken_for_data() -> None:
    b = Builder()
    data = b.input("d", "f32", (4, 2))
    indices = b.node(
        "Cast", [b.dq(b.input("i", "u8", (3,)), Grid(scale=1.0))], to=TensorProto.INT64
    )
    clipped = b.node("Mod", [indices, b.constant(4, "i64")])
    b.q(b.node("Gather", [data, clipped]), G, b.output("y", "u8"))
    assert_rewritten(b.model(), {"Gather": 1, "QuantizeLinear": 1})


def split(
    opset: int = 19, y1: Grid = G, uses: tuple[str, ...] = ("y0", "y1"), x: Grid = G
) -> ModelProto:
    b = Builder(opset)
    v = b.dq(b.input("x", x.type, (4, 6)), x)
    sizes = [2, 4]
    if opset < 13:
        b.node("Split", [v], ["p0", "p1"], axis=1, split=sizes)
    else:
        b.node("Split", [v, b.constant(sizes, "i64")], ["p0", "p1"], axis=1)
    for name, part, grid in zip(("y0", "y1"), ("p0", "p1"), (x, y1), strict=True):
        if name in uses:
            b.q(part, grid, b.output(name, grid.type))
    for part in ("p0", "p1"):
        if f"float_{part}" in uses:
            b.output(part, "f32")
    return b.model()


@pytest.mark.parametrize("opset", [10, 13, 18, 21])
def test_split(opset: int) -> None:
    assert_rewritten(split(opset), GONE | {"Split": 1})


def test_split_of_int16() -> None:
    grid = Grid("i16", 0.001, 5)
    assert_rewritten(split(21, grid, x=grid), GONE | {"Split": 1})


@pytest.mark.parametrize(
    "model",
    [
        split(y1=Grid(scale=0.06, zero_point=7)),
        split(uses=("y0",)),
        split(uses=("y0", "float_p1")),
        split(uses=("y0", "y1", "float_p1")),
    ],
    ids=["another_grid", "unused_part", "float_part", "float_part_beside"],
)
def test_split_near_misses(model: ModelProto) -> None:
    assert_rewritten(model, {"Split": 1, "DequantizeLinear": 1})


def with_scale_as_input(op: str) -> ModelProto:
    """Both sides take one scale and zero point, and the caller gives the scale."""
    b = Builder()
    parameters = [b.input("s", "f32", ()), b.constant(7, "u8")]
    v = b.node("DequantizeLinear", [b.input("x", "u8", (2, 3)), *parameters])
    v = b.node(op, [v, v] if op == "Add" else [v])
    b.node("QuantizeLinear", [v, *parameters], b.output("y", "u8"))
    return b.model()


@pytest.mark.parametrize("op", ["Transpose", "Identity", "Add", "Sigmoid"])
def test_a_scale_that_is_no_constant_blocks(op: str) -> None:
    """Where it is 0 or NaN, the quantizer does not give the codes back."""
    model = with_scale_as_input(op)
    codes = np.array([[0, 7, 255], [1, 100, 254]], np.uint8)
    feeds = [{"x": codes, "s": np.array(scale, np.float32)} for scale in (0.5, 0.0, np.inf, -1.0)]
    assert_rewritten(model, {"QuantizeLinear": 1, "DequantizeLinear": 1}, feeds=feeds)
    if op == "Transpose":
        assert not np.array_equal(run(model, feeds[1])["y"], codes.T)


def scattered(
    op: str, updates: Grid | float, opset: int = 19, x: Grid = G, **attributes: Any
) -> ModelProto:
    """Updates are a quantized graph input, or a constant."""
    b = Builder(opset)
    shape = (2, 1) if op == "ScatterElements" else (1, 3)
    indices = b.constant([[2], [0]] if op == "ScatterElements" else [[1]], "i64")
    u = (
        b.dq(b.input("u", updates.type, shape), updates)
        if isinstance(updates, Grid)
        else b.constant(np.full(shape, updates), "f32")
    )
    v = b.dq(b.input("x", x.type, (2, 3)), x)
    axis = {"axis": 1} if op == "ScatterElements" else {}
    b.q(b.node(op, [v, indices, u], **axis, **attributes), x, b.output("y", x.type))
    return b.model()


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("opset", [11, 13, 16, 24])
def test_scatter(op: str, opset: int) -> None:
    for updates in (G, 0.123, -100.0):
        assert_rewritten(scattered(op, updates, opset), GONE | {op: 1})
    if opset >= 16:
        assert_rewritten(scattered(op, G, opset, reduction="none"), GONE | {op: 1})


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_scatter_that_stays(op: str) -> None:
    other = Grid(scale=0.04, zero_point=7)
    assert_rewritten(scattered(op, other), {"DequantizeLinear": 2})
    assert_rewritten(scattered(op, G, reduction="add"), {"DequantizeLinear": 2})
    assert_rewritten(scattered(op, float("nan")), {"DequantizeLinear": 1})
