"""Ops that choose by order: on codes where the scale is positive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid, unary

GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
G = Grid(scale=0.05, zero_point=7)
NEGATIVE = replace(G, scale=-0.05)


def reduced(op: str, grid: Grid = G, opset: int = 19) -> ModelProto:
    if opset >= 18:
        return unary(op, grid, grid, opset=opset, extra=[([1, 2], "i64")])
    return unary(op, grid, grid, opset=opset, axes=[1, 2])


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("opset", [12, 13, 18, 20])
@pytest.mark.parametrize("grid", [G, Grid("i8", 0.05, -3), Grid(zero_point=None)])
def test_reductions(op: str, opset: int, grid: Grid) -> None:
    assert_rewritten(reduced(op, grid, opset), GONE | {op: 1})


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_reductions_that_stay(op: str) -> None:
    assert_rewritten(reduced(op, NEGATIVE), {op: 1, "DequantizeLinear": 1})
    assert_rewritten(reduced(op, opset=11), {op: 1, "DequantizeLinear": 1})
    assert_rewritten(reduced(op, Grid("u4", 0.5, 3), 21), {op: 1, "DequantizeLinear": 1}, feeds=[])
    assert_rewritten(reduced(op, Grid("u16", 0.5, 3), 21), {op: 1, "DequantizeLinear": 1})


@pytest.mark.parametrize("opset", [12, 18])
def test_global_maxpool(opset: int) -> None:
    assert_rewritten(
        unary("GlobalMaxPool", G, G, opset=opset), GONE | {"ReduceMax": 1, "GlobalMaxPool": 0}
    )


def position(op: str, grid: Grid, opset: int = 19, **attributes: Any) -> ModelProto:
    b = Builder(opset)
    v = b.dq(b.input("x", grid.type, (3, 50)), grid)
    b.node(op, [v], b.output("y", "i64"), axis=1, **attributes)
    return b.model()


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("grid", [G, Grid("i8", 0.05, -3), Grid(zero_point=None)])
def test_positions(op: str, grid: Grid) -> None:
    assert_rewritten(position(op, grid), GONE | {op: 1})
    assert_rewritten(position(op, grid, select_last_index=1, keepdims=0), GONE | {op: 1})


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_positions_that_stay(op: str) -> None:
    """onnxruntime looks at the scale's sign nowhere and finds the wrong index."""
    assert_rewritten(position(op, NEGATIVE), {op: 1, "DequantizeLinear": 1})
    assert_rewritten(position(op, Grid(scale=0.0)), {op: 1, "DequantizeLinear": 1})
    assert_rewritten(position(op, Grid("u16", 0.05, 7), 21), {op: 1, "DequantizeLinear": 1})
    per_axis = Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=0)
    assert_rewritten(position(op, per_axis), {op: 1, "DequantizeLinear": 1})


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_extremes_of_tensors(op: str, count: int) -> None:
    b = Builder()
    operands = [b.dq(b.input(f"x{i}", "u8", (2, 8)), G) for i in range(count)]
    b.q(b.node(op, operands), G, b.output("y", "u8"))
    assert_rewritten(b.model(), GONE | {op: 1})


@pytest.mark.parametrize("other", [replace(G, scale=0.06), replace(G, zero_point=8)])
def test_extremes_of_two_grids_stay(other: Grid) -> None:
    b = Builder()
    operands = [b.dq(b.input(f"x{i}", "u8", (2, 8)), grid) for i, grid in enumerate((G, other))]
    b.q(b.node("Max", operands), G, b.output("y", "u8"))
    assert_rewritten(b.model(), {"Max": 1, "DequantizeLinear": 2})


@pytest.mark.parametrize("opset", [11, 12, 13, 18])
@pytest.mark.parametrize("axis", [None, 1, -1])
def test_softmax(opset: int, axis: int | None) -> None:
    y = Grid(scale=1 / 256, zero_point=0)
    model = unary(
        "Softmax", Grid(scale=0.05, zero_point=100), y, opset=opset, axis=axis, shape=(2, 5, 7)
    )
    assert_rewritten(model, GONE | {f"{MS}::QLinearSoftmax": 1}, 1)


def test_softmax_of_a_mask_as_wide_as_float32() -> None:
    mask = Grid(scale=1.3344406e36, zero_point=255)
    assert_rewritten(
        unary("Softmax", mask, Grid(scale=1 / 256), shape=(4, 9)), {f"{MS}::QLinearSoftmax": 1}, 1
    )


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (NEGATIVE, Grid(scale=1 / 256)),
        (Grid(scale=[0.1] * 3, zero_point=0, axis=1), Grid(scale=1 / 256)),
        (G, Grid("i8", 1 / 256, -128)),
    ],
)
def test_softmax_near_misses(x: Grid, y: Grid) -> None:
    assert_rewritten(unary("Softmax", x, y), {"Softmax": 1, f"{MS}::QLinearSoftmax": 0})


def where(a: Grid, b_: Grid, y: Grid) -> ModelProto:
    b = Builder()
    condition = b.input("c", "bool", (4, 8))
    operands = [b.dq(b.input(name, g.type, (4, 8)), g) for name, g in (("a", a), ("b", b_))]
    b.q(b.node("Where", [condition, *operands]), y, b.output("y", y.type))
    return b.model()


def test_where() -> None:
    fused = GONE | {f"{MS}::QLinearWhere": 1}
    assert_rewritten(
        where(G, Grid(scale=0.02, zero_point=3), Grid(scale=0.03, zero_point=5)), fused
    )
    assert_rewritten(where(Grid("i8", 0.1, 3), Grid("i8", 0.2, -5), Grid("i8", 0.1, 0)), fused)
    per_axis = Grid(scale=np.full(8, 0.1), zero_point=0, axis=1)
    assert_rewritten(where(G, per_axis, G), {"Where": 1})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("grid", [G, Grid("i8", 0.05, -3), Grid(zero_point=None)])
def test_pad(mode: str, grid: Grid) -> None:
    model = unary("Pad", grid, grid, extra=[([0, 0, 1, 2, 0, 0, 2, 1], "i64")], mode=mode)
    assert_rewritten(model, GONE | {"Pad": 1})


@pytest.mark.parametrize("value", [0.0, 0.33, -5.0, 1e9, 0.125])
def test_pad_with_a_value(value: float) -> None:
    model = unary("Pad", G, G, extra=[([0, 0, 1, 2, 0, 0, 2, 1], "i64"), (value, "f32")])
    assert_rewritten(model, GONE | {"Pad": 1})


@pytest.mark.parametrize("opset", [10, 11, 13, 19])
def test_resize_nearest(opset: int) -> None:
    scales = (np.array([1, 1, 2, 1.5]), "f32")
    roi = (np.zeros(0), "f32")
    extra = [scales] if opset < 11 else [roi, scales]
    model = unary("Resize", G, G, opset=opset, extra=extra, mode="nearest")
    assert_rewritten(model, GONE | {"Resize": 1})


def test_resize_linear_stays() -> None:
    scales = (np.array([1, 1, 2, 1.5]), "f32")
    model = unary("Resize", G, G, extra=[(np.zeros(0), "f32"), scales], mode="linear")
    assert_rewritten(model, {"Resize": 1, "DequantizeLinear": 1})


def top_k(grid: Grid, opset: int = 19, indices: bool = True, **attributes: Any) -> ModelProto:
    b = Builder(opset)
    v = b.dq(b.input("x", grid.type, (4, 60)), grid)
    outputs = ["v", b.output("i", "i64") if indices else "unused"]
    v = b.node("TopK", [v, b.constant([3], "i64")], outputs, **attributes)
    b.q(v, grid, b.output("y", grid.type))
    return b.model()


def with_ties(grid: Grid) -> list[dict[str, Any]]:
    dtype = {"u8": np.uint8, "i8": np.int8}[grid.type]
    return [{"x": np.random.default_rng(n).integers(0, n, (4, 60)).astype(dtype)} for n in (4, 99)]


@pytest.mark.parametrize("indices", [True, False])
@pytest.mark.parametrize("opset", [11, 19, 24])
@pytest.mark.parametrize("grid", [G, Grid("i8", 0.05, -3)])
@pytest.mark.parametrize("attributes", [{}, {"largest": 0}, {"axis": 0, "sorted": 1}])
def test_top_k(indices: bool, opset: int, grid: Grid, attributes: dict[str, int]) -> None:
    model = top_k(grid, opset, indices, **attributes)
    assert_rewritten(model, GONE | {"TopK": 1}, feeds=with_ties(grid))


def test_top_k_of_a_decreasing_tensor_stays() -> None:
    assert_rewritten(top_k(NEGATIVE), {"DequantizeLinear": 1}, feeds=with_ties(G))


def test_softmax_behind_a_reshape_to_a_computed_shape() -> None:
    """Shape inference gives up on the rank, which is the length of the shape."""
    b = Builder(13)
    v = b.dq(b.input("x", "u8", ("n", 12)), G)
    first = b.node("Slice", [b.node("Shape", [v]), b.constant([0], "i64"), b.constant([1], "i64")])
    dims = b.node("Concat", [first, b.constant([3, -1], "i64")], axis=0)
    v = b.dq(b.q(b.node("Reshape", [v, dims]), G), G)
    b.q(b.node("Softmax", [v]), Grid(scale=1 / 256), b.output("y", "u8", (None, None, None)))
    model = b.model()
    for _ in range(3 - len(model.graph.output[0].type.tensor_type.shape.dim)):
        model.graph.output[0].type.tensor_type.shape.dim.add()
    counts = {f"{MS}::QLinearSoftmax": 1, "Softmax": 0, "QuantizeLinear": 0}
    assert_rewritten(model, counts, 1, sizes={"n": 2})


def compared(op: str, a: Grid = G, b: Grid = G, opset: int = 19) -> ModelProto:
    builder = Builder(opset)
    inputs = [
        builder.dq(builder.input(name, grid.type, shape), grid)
        for name, grid, shape in (("a", a, (30, 20)), ("b", b, (20,)))
    ]
    builder.node(op, inputs, builder.output("y", "bool"))
    return builder.model()


@pytest.mark.parametrize("op", ["Equal", "Less", "Greater"])
def test_comparisons(op: str) -> None:
    for opset in (11, 13, 24):
        assert_rewritten(compared(op, opset=opset), {op: 1, "DequantizeLinear": 0})
    i8 = Grid("i8", 0.05, -3)
    assert_rewritten(compared(op, i8, i8), {op: 1, "DequantizeLinear": 0})


@pytest.mark.parametrize("op", ["Equal", "Less", "Greater"])
def test_comparisons_that_stay(op: str) -> None:
    for a, b in ((G, replace(G, zero_point=8)), (G, replace(G, scale=0.06)), (NEGATIVE, NEGATIVE)):
        assert_rewritten(compared(op, a, b), {"DequantizeLinear": 2})
