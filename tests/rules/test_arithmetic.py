"""Arithmetic with constants, table ops, clamps, ReduceMean, BatchNormalization, MatMulNBits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid, binary, unary

GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
X, Y = Grid(scale=0.0371, zero_point=117), Grid(scale=0.0533, zero_point=93)
ALL = [{"x": np.arange(256).astype(np.uint8)}]
G = Grid(scale=0.05, zero_point=7)


def with_constant(
    op: str, value: float, x: Grid = X, y: Grid = Y, shape: tuple[int, ...] = ()
) -> ModelProto:
    return unary(op, x, y, shape=(256,), extra=[(np.full(shape, value), "f32")])


@pytest.mark.parametrize(
    ("op", "value", "fused"),
    [
        ("Mul", 0.731, "QLinearAdd"),
        ("Mul", -1.37, "QLinearAdd"),
        ("Div", 6.0, "QLinearAdd"),
        ("Div", -3.1, "QLinearAdd"),
        ("Add", 0.513, "QLinearAdd"),
        ("Add", -2.71, "QLinearAdd"),
        ("Sub", 0.513, "QLinearAdd"),
        ("Pow", 2.0, "QLinearMul"),
        ("PRelu", 0.3, "QLinearLeakyRelu"),
        ("PRelu", -0.3, "QLinearLeakyRelu"),
    ],
)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_an_op_with_one_constant(op: str, value: float, fused: str, shape: tuple[int, ...]) -> None:
    model = with_constant(op, value, shape=shape)
    assert_rewritten(model, GONE | {f"{MS}::{fused}": 1, op: 0}, 0, feeds=ALL)


@pytest.mark.parametrize("op", ["Neg", "Abs"])
def test_an_op_of_one_operand(op: str) -> None:
    assert_rewritten(unary(op, X, Y, shape=(256,)), GONE | {op: 0}, 0, feeds=ALL)


@pytest.mark.parametrize(
    ("op", "value"),
    [
        ("Mul", np.nan),
        ("Mul", np.inf),
        ("Mul", 0.0),
        ("Div", 0.0),
        ("Add", np.nan),
        ("Pow", 3.0),
        ("PRelu", np.inf),
    ],
)
def test_constants_that_no_code_says(op: str, value: float) -> None:
    assert_rewritten(with_constant(op, value), {op: 1}, feeds=[])


@pytest.mark.parametrize(("zero_point", "fires"), [(1, False), (2, True)])
def test_a_difference_at_ties_refuses(zero_point: int, fires: bool) -> None:
    """x + 0.5 y-quanta: the kernel rounds half to even after adding the zero point."""
    grid = Grid(scale=1.0, zero_point=zero_point)
    model = with_constant("Add", 0.5, grid, grid)
    assert_rewritten(model, {"Add": int(not fires)}, 0, feeds=ALL)


@pytest.mark.parametrize(("op", "value"), [("Mul", 0.5), ("Div", 2.0)])
@pytest.mark.parametrize(("zero_point", "fires"), [(1, False), (2, True)])
def test_ties_on_either_side(op: str, value: float, zero_point: int, fires: bool) -> None:
    grid = Grid(scale=1.0, zero_point=zero_point)
    counts = {f"{MS}::QLinearAdd": int(fires), op: int(not fires)}
    assert_rewritten(with_constant(op, value, grid, grid), counts, 0, feeds=ALL)


@pytest.mark.parametrize("value", [0.2, 0.6, 1.4])
def test_ties_of_inexact_products(value: float) -> None:
    """5 * 0.1 quanta in float32 is a tie or is not: wherever the pack fuses, it must be right."""
    grids = (Grid(scale=0.05, zero_point=zero) for zero in (2, 3))
    for grid in grids:
        assert_rewritten(with_constant("Mul", value, grid, Grid(scale=0.1)), {}, 0, feeds=ALL)


def test_a_lone_tie_is_avoided() -> None:
    """3 is 127.5 quanta: 0 + 3 is a tie, which float32 rounds up to 128."""
    y = Grid(scale=6 / 255, zero_point=0)
    model = with_constant("Add", 3.0, Grid(scale=0.0371, zero_point=117), y)
    assert_rewritten(model, GONE | {f"{MS}::QLinearAdd": 1, "Add": 0}, 0, feeds=ALL)


@pytest.mark.parametrize("value", [1.0, -0.7, 2.31])
@pytest.mark.parametrize("type", ["u8", "i8"])
def test_sub_from_a_constant(value: float, type: str) -> None:
    b = Builder()
    x, y = Grid(type, 0.0371, 17), Grid(type, 0.0533, 93)
    v = b.dq(b.input("x", type, (256,)), x)
    b.q(b.node("Sub", [b.constant(value, "f32"), v]), y, b.output("y", type))
    codes = [{"x": np.arange(256).astype(np.uint8).view("u1" if type == "u8" else "i1")}]
    assert_rewritten(b.model(), GONE | {f"{MS}::QLinearAdd": 1, "Sub": 0}, 0, feeds=codes)


@pytest.mark.parametrize("op", ["Div", "Sub", "Pow"])
@pytest.mark.parametrize("first", [False, True])
def test_a_constant_that_is_quantized(op: str, first: bool) -> None:
    b = Builder()
    x = b.dq(b.input("x", "u8", (256,)), X)
    c = b.dq(b.constant([200], "u8"), Grid(scale=0.01, zero_point=0))
    v = b.node(op, [c, x] if first else [x, c])
    b.q(v, Y, b.output("y", "u8"))
    fuses = op == "Sub" or not first
    assert_rewritten(b.model(), GONE if fuses else {op: 1}, 0, feeds=ALL)


UNIT = Grid(scale=1 / 255, zero_point=0)
WIDER = Grid(scale=1 / 200, zero_point=20)


@pytest.mark.parametrize(("y", "clips"), [(UNIT, 0), (WIDER, 1)])
@pytest.mark.parametrize("attributes", [{}, {"alpha": 1 / 6}, {"alpha": -0.3, "beta": 0.7}])
def test_hard_sigmoid(y: Grid, clips: int, attributes: dict[str, float]) -> None:
    model = unary("HardSigmoid", X, y, shape=(256,), **attributes)
    counts = GONE | {f"{MS}::QLinearAdd": 1, "Clip": clips, "HardSigmoid": 0}
    assert_rewritten(model, counts, 0, feeds=ALL)


@pytest.mark.parametrize(("y", "clips"), [(UNIT, 0), (WIDER, 1)])
@pytest.mark.parametrize("divide", [True, False])
def test_a_hard_sigmoid_that_is_spelt_out(y: Grid, clips: int, divide: bool) -> None:
    b = Builder()
    v = b.node("Add", [b.constant(3.0, "f32"), b.dq(b.input("x", "u8", (256,)), X)])
    v = b.node("Clip", [v, b.constant(0.0, "f32"), b.constant(6.0, "f32")])
    op, factor = ("Div", 6.0) if divide else ("Mul", 1 / 6)
    b.q(b.node(op, [v, b.constant(factor, "f32")]), y, b.output("y", "u8"))
    counts = GONE | {f"{MS}::QLinearAdd": 1, "Clip": clips, "Add": 0, op: 0}
    assert_rewritten(b.model(), counts, 0, feeds=ALL)


def test_hard_sigmoid_before_opset_12_needs_a_grid_that_clips() -> None:
    assert_rewritten(unary("HardSigmoid", X, WIDER, shape=(256,), opset=11), {"HardSigmoid": 1})
    counts = GONE | {f"{MS}::QLinearAdd": 1}
    assert_rewritten(unary("HardSigmoid", X, UNIT, shape=(256,), opset=11), counts)


def test_a_constant_of_more_dimensions_changes_the_shape() -> None:
    assert_rewritten(with_constant("Mul", 0.7, shape=(1, 1)), {"Mul": 1}, feeds=ALL)


def test_sub() -> None:
    pairs = {
        "a": np.repeat(np.arange(256), 256).astype(np.uint8),
        "b": np.tile(np.arange(256), 256).astype(np.uint8),
    }
    model = binary("Sub", shapes=((65536,), (65536,)))
    assert_rewritten(model, GONE | {f"{MS}::QLinearAdd": 1, "Sub": 0}, 1, feeds=[pairs])


@pytest.mark.parametrize(
    ("op", "extra", "made"),
    [
        ("Relu", [], "Max"),
        ("Clip", [(-0.2, "f32"), (3.0, "f32")], "Clip"),
        ("Clip", [(-0.225, "f32")], "Clip"),
        ("Max", [(0.31, "f32")], "Max"),
        ("Min", [(0.325, "f32")], "Min"),
    ],
)
def test_clamps_of_codes(op: str, extra: list[tuple[float, str]], made: str) -> None:
    assert_rewritten(unary(op, G, G, shape=(256,), extra=extra), GONE | {made: 1}, 0, feeds=ALL)


def mean(
    axes: list[int], keepdims: int, shape: tuple[int | str, ...], opset: int, x: Grid = G
) -> ModelProto:
    extra: list[tuple[list[int], str]]
    attributes: dict[str, Any]
    extra, attributes = ([(axes, "i64")], {}) if opset >= 18 else ([], {"axes": axes})
    y = Grid(x.type, 0.03, 3)
    return unary(
        "ReduceMean", x, y, shape=shape, opset=opset, extra=extra, keepdims=keepdims, **attributes
    )


@pytest.mark.parametrize("opset", [11, 13, 18, 24])
@pytest.mark.parametrize("keepdims", [1, 0])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2, 3, 5, 4), [2, 3]),
        (("n", 3, "h", 4), [-1, -2]),
        ((2, 3, 5), [2]),
        ((2, 3, 5), [-1]),
        ((2, 3, 5), [1]),
        (("n", "t", 5), [-2]),
        ((2, 3, 5, 4), [2, 1]),
        ((2, 3, 2, 2, 3), [2, 3, 4]),
        ((7, 5), [1]),
        (("n", 5), [-1]),
    ],
)
def test_reduce_mean(
    opset: int, keepdims: int, shape: tuple[int | str, ...], axes: list[int]
) -> None:
    model = mean(axes, keepdims, shape, opset)
    counts = GONE | {f"{MS}::QLinearGlobalAveragePool": 1, "ReduceMean": 0}
    assert_rewritten(model, counts | {"Squeeze": 1 - keepdims}, 1)


@pytest.mark.parametrize(
    ("shape", "axes"), [((2, 3, 5, 4), [0, 1]), ((2, 3, 5, 4), [3]), ((4,), [0]), ((7, "d"), [1])]
)
@pytest.mark.parametrize("keepdims", [1, 0])
def test_reduce_mean_that_stays(
    shape: tuple[int | str, ...], axes: list[int], keepdims: int
) -> None:
    assert_rewritten(mean(axes, keepdims, shape, 18), {"ReduceMean": 1, "QuantizeLinear": 1}, 0)


@pytest.mark.parametrize("opset", [13, 24])
@pytest.mark.parametrize("keepdims", [1, 0])
@pytest.mark.parametrize(
    ("shape", "axes", "fires"),
    [
        (("n", 3, 5, 4), [3, 2], 1),
        (("n", 3, 5), [1], 1),
        (("n", 5), [-1], 1),
        (("n", "m"), [-1], 0),
        ((2, 3, 5), [0], 0),
    ],
)
def test_reduce_sum(
    opset: int, keepdims: int, shape: tuple[int | str, ...], axes: list[int], fires: int
) -> None:
    x, y = Grid(scale=0.05, zero_point=90), Grid(scale=0.2, zero_point=100)
    model = unary(
        "ReduceSum", x, y, shape=shape, opset=opset, extra=[(axes, "i64")], keepdims=keepdims
    )
    counts = {f"{MS}::QLinearGlobalAveragePool": fires, "ReduceSum": 1 - fires}
    assert_rewritten(model, counts, 1)


def test_reduce_sum_of_everything_stays() -> None:
    assert_rewritten(unary("ReduceSum", G, G, keepdims=1), {"ReduceSum": 1})


def test_reduce_mean_of_int8() -> None:
    counts = GONE | {f"{MS}::QLinearGlobalAveragePool": 1}
    assert_rewritten(mean([1], 0, (2, 3, 5), 19, Grid("i8", 0.05, -3)), counts, 1)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_conv_and_batchnorm(bias: bool, sign: float) -> None:
    b = Builder()
    rng = np.random.default_rng(5)
    operands = [
        b.dq(b.input("x", "u8", (1, 3, 6, 6)), Grid(scale=0.02, zero_point=128)),
        b.dq(b.constant(rng.integers(-60, 60, (4, 3, 3, 3)), "i8"), Grid("i8", 0.01, 0)),
    ]
    if bias:
        codes = b.constant([30, -500, 700, 0], "i32")
        operands.append(b.dq(codes, Grid("i32", np.float32(0.02) * np.float32(0.01), None)))
    v = b.node("Conv", operands)
    values = (
        sign * rng.uniform(0.5, 2, 4),
        rng.normal(0, 1, 4),
        rng.normal(0, 1, 4),
        rng.uniform(0.5, 2, 4),
    )
    v = b.node("BatchNormalization", [v, *(b.constant(value, "f32") for value in values)])
    b.q(v, Grid(scale=0.1, zero_point=120), b.output("y", "u8"))
    fused = int(sign > 0)
    counts = {"QLinearConv": fused, "BatchNormalization": 1 - fused}
    assert_rewritten(b.model(), counts, 1)


@pytest.mark.parametrize("type", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("zero_point", [None, 3])
@pytest.mark.parametrize(("rows", "block"), [(64, 16), (40, 32)])
def test_weights_of_few_bits(type: str, zero_point: int | None, rows: int, block: int) -> None:
    b = Builder(21)
    rng = np.random.default_rng(1)
    low = {"i4": -8, "u4": 0, "i8": -128, "u8": 0}[type]
    span = 16 if type.endswith("4") else 256
    codes = b.constant(rng.integers(low, low + span, (rows, 5)), type)
    scale = rng.uniform(0.01, 0.02, (-(-rows // block), 5))
    zeros = None if zero_point is None else rng.integers(0, 4, scale.shape)
    w = b.dq(codes, Grid(type, scale, zeros, axis=0, block_size=block))
    b.node("MatMul", [b.input("x", "f32", (2, 3, rows)), w], b.output("y", "f32"))
    assert_rewritten(b.model(), {f"{MS}::MatMulNBits": 1, "MatMul": 0, "DequantizeLinear": 0})


@pytest.mark.parametrize("types", ["u8", "i8"])
def test_requantizing(types: str) -> None:
    x, y = Grid(types, 0.0371, 17), Grid(types, 0.0533, 93)
    model = unary("Identity", x, y, shape=(256,))
    codes = [{"x": np.arange(256).astype(np.uint8).view("u1" if types == "u8" else "i1")}]
    assert_rewritten(model, GONE | {f"{MS}::QLinearAdd": 1}, 0, feeds=codes)
    assert_rewritten(model, {"QuantizeLinear": 1}, 0, feeds=codes, requantize=False)


@pytest.mark.parametrize(
    ("op", "extra"),
    [("Relu", []), ("Clip", [(-0.7, "f32"), (3.0, "f32")]), ("Clip", [(-0.225, "f32")])],
)
@pytest.mark.parametrize("y", [Y, Grid(scale=0.02, zero_point=30)])
def test_clamps_onto_another_grid(op: str, extra: list[tuple[float, str]], y: Grid) -> None:
    model = unary(op, X, y, shape=(256,), extra=extra)
    counts = GONE | {f"{MS}::QLinearAdd": 1, "Clip": 1, "Relu": 0}
    assert_rewritten(model, counts, 0, feeds=ALL)


@pytest.mark.parametrize(
    ("op", "made", "attributes"),
    [
        ("Transpose", "Transpose", {"perm": [0, 2, 3, 1]}),
        ("Flatten", "Flatten", {}),
        ("SpaceToDepth", "SpaceToDepth", {"blocksize": 2}),
        ("MaxPool", "MaxPool", {"kernel_shape": [2, 2]}),
        ("GlobalMaxPool", "ReduceMax", {}),
    ],
)
@pytest.mark.parametrize("opset", [13, 22])
def test_picking_for_another_grid(
    op: str, made: str, attributes: dict[str, Any], opset: int
) -> None:
    model = unary(op, X, Y, opset=opset, **attributes)
    assert_rewritten(model, GONE | {f"{MS}::QLinearAdd": 1, made: 1}, 0)
    assert_rewritten(model, {op: 1, "QuantizeLinear": 1}, 0, requantize=False)


@pytest.mark.parametrize("zero_point", [2, 3])
def test_requantizing_to_twice_the_scale(zero_point: int) -> None:
    """Every other code is a tie: kernels round as quantizers do where the zero point is even."""
    model = unary("Identity", Grid(scale=0.5), Grid(scale=1.0, zero_point=zero_point), shape=(256,))
    assert_rewritten(model, {"QuantizeLinear": zero_point % 2}, 0, feeds=ALL)


@pytest.mark.parametrize("c", [0.731, -1.37])
@pytest.mark.parametrize("d", [0.513, -2.71])
@pytest.mark.parametrize("ops", [("Mul", "Add"), ("Sub", "Div")])
def test_a_chain_of_two_constants_is_one_op(c: float, d: float, ops: tuple[str, str]) -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (256,)), X)
    for op in ops:
        v = b.node(op, [v, b.constant(c if op in ("Mul", "Div") else d, "f32")])
    b.q(v, Y, b.output("y", "u8"))
    counts = GONE | dict.fromkeys(ops, 0) | {f"{MS}::QLinearAdd": 1}
    assert_rewritten(b.model(), counts, 0, feeds=ALL)
