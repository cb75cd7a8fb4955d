"""Constants that stand as nodes, and what stands between them and Q or DQ."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from .checks import assert_rewritten
from .graphs import Builder, Grid, Product

FUSED = {"QLinearConv": 1, "Conv": 0, "DequantizeLinear": 0, "QuantizeLinear": 0}


def as_nodes(b: Builder) -> None:
    """Every initializer as a Constant node at the head of the graph."""
    nodes = [
        helper.make_node("Constant", [], [t.name], name=f"constant_{t.name}", value=t)
        for t in b.initializers
    ]
    b.nodes[:0] = nodes
    b.initializers.clear()


@pytest.mark.parametrize("opset", [10, 13, 19, 21])
def test_parameters_that_are_constant_nodes(opset: int) -> None:
    b = Builder(opset)
    case = Product(bias="i32", opset=opset)
    v = b.dq(b.input("x", "u8", (1, 3, 6, 6)), case.x)
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    w = b.dq(b.constant(codes, "i8"), case.w)
    b.q(b.node("Conv", [v, w]), Grid(scale=0.1, zero_point=100), b.output("y", "u8"))
    as_nodes(b)
    assert_rewritten(b.model(), FUSED | {"Constant": 0}, 1)


@pytest.mark.parametrize("per_channel", [False, True])
def test_fake_quantized_weights(per_channel: bool) -> None:
    """DQ(Q(float constant)), as TensorRT-style exporters write it."""
    b = Builder(17)
    v = b.dq(b.input("x", "u8", (1, 3, 6, 6)), Grid(scale=0.02, zero_point=128))
    grid = Grid("i8", [0.01, 0.02, 0.005, 0.01], 0, axis=0) if per_channel else Grid("i8", 0.01, 0)
    values = np.random.default_rng(0).uniform(-0.6, 0.6, (4, 3, 3, 3))
    w = b.dq(b.q(b.constant(values, "f32"), grid), grid)
    b.q(b.node("Conv", [v, w]), Grid(scale=0.1, zero_point=100), b.output("y", "u8"))
    assert_rewritten(b.model(), FUSED, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5])
@pytest.mark.parametrize("type", ["u8", "i8", "u16", "i16"])
def test_constants_are_quantized_as_onnx_says(value: float, type: str) -> None:
    b = Builder(21)
    codes = b.q(b.constant([value, 1.0], "f32"), Grid(type, 1.0, 3))
    x = b.input("x", type, (2,))
    b.node("Concat", [codes, x], b.output("y", type), axis=0)
    if np.isnan(value):  # ONNX leaves it open; the reference is onnxruntime's
        assert_rewritten(b.model(), {})
    else:
        assert_rewritten(b.model(), {"QuantizeLinear": 0})


def test_identity_between_constants_and_dq() -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (1, 3, 6, 6)), Grid(scale=0.02, zero_point=128))
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    scale = b.node("Identity", [b.constant(0.01, "f32")])
    zero = b.node("Cast", [b.constant(0, "i32")], to=TensorProto.INT8)
    w = b.node("DequantizeLinear", [b.node("Identity", [b.constant(codes, "i8")]), scale, zero])
    b.q(b.node("Conv", [v, w]), Grid(scale=0.1, zero_point=100), b.output("y", "u8"))
    assert_rewritten(b.model(), FUSED | {"Identity": 0, "Cast": 0}, 1)


def test_identity_between_q_and_dq() -> None:
    b = Builder()
    grid = Grid(scale=0.02, zero_point=128)
    codes = b.node("Identity", [b.q(b.input("x", "f32", (2, 3)), grid)])
    v = b.node("Reshape", [b.dq(codes, grid), b.constant([3, 2], "i64")])
    b.q(v, grid, b.output("y", "u8"))
    assert_rewritten(b.model(), {"QuantizeLinear": 1, "DequantizeLinear": 0, "Identity": 0})


def test_an_identity_that_makes_a_graph_output_keeps_its_name() -> None:
    b = Builder()
    grid = Grid(scale=0.02, zero_point=128)
    codes = b.q(b.input("x", "f32", (2, 3)), grid)
    b.node("Identity", [codes], b.output("y", "u8"))
    b.node("Identity", [b.constant([1, 2], "u8")], b.output("z", "u8"))
    assert_rewritten(b.model(), {"QuantizeLinear": 1})


@pytest.mark.parametrize("dims", [[1, 4, 1, 1], [-1, 1, 1]])
def test_a_reshaped_constant(dims: list[int]) -> None:
    b = Builder()
    grid = Grid(scale=0.02, zero_point=128)
    c = b.node("Reshape", [b.constant([0.1, -0.5, 1.0, 0.3], "f32"), b.constant(dims, "i64")])
    v = b.dq(b.input("x", "u8", (1, 4, 3, 3)), grid)
    b.q(b.node("Add", [v, b.dq(b.q(c, grid), grid)]), grid, b.output("y", "u8"))
    counts = {"Reshape": 0, "QuantizeLinear": 0, "DequantizeLinear": 0}
    assert_rewritten(b.model(), counts, 1)


@pytest.mark.parametrize("op", ["BatchNormalization", "LayerNormalization"])
def test_quantized_parameters_of_a_normalization(op: str) -> None:
    """They feed no integer kernel: their dequantizers would run each time."""
    b = Builder()
    grid = Grid(scale=0.02, zero_point=128)
    operands = [b.dq(b.input("x", "u8", (2, 3, 4)), grid)]
    size, count = (3, 4) if op == "BatchNormalization" else (4, 2)
    for i in range(count):
        codes = np.arange(size) * 20 + 130 + i
        operands.append(b.dq(b.constant(codes, "u8"), Grid(scale=0.01, zero_point=100)))
    b.q(b.node(op, operands), Grid(scale=0.05, zero_point=100), b.output("y", "u8"))
    assert_rewritten(b.model(), {"DequantizeLinear": 1, "QuantizeLinear": 1, op: 1})


def test_conv_takes_over_a_normalization_with_quantized_parameters() -> None:
    b = Builder()
    case = Product()
    v = b.dq(b.input("x", "u8", (1, 3, 6, 6)), case.x)
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    operands = [b.node("Conv", [v, b.dq(b.constant(codes, "i8"), case.w)])]
    for i in range(4):
        parameter = b.constant(np.arange(4) * 20 + 130 + i, "u8")
        operands.append(b.dq(parameter, Grid(scale=0.01, zero_point=100)))
    v = b.node("BatchNormalization", operands)
    b.q(v, Grid(scale=0.1, zero_point=100), b.output("y", "u8"))
    assert_rewritten(b.model(), FUSED | {"BatchNormalization": 0}, 1)
