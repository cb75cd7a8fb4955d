"""Graphs in each of which one thing stands in the way of a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper
from rules.graphs import Builder, Grid, Product

U8 = Grid(scale=0.05, zero_point=120)
I8 = Grid("i8", 0.05, 3)
U16 = Grid("u16", 0.001, 30000)
U8_WEIGHT = Grid("u8", 0.01, 128)
OTHER = Grid(scale=0.03, zero_point=3)
CONV = Product()
MATMUL = Product("MatMul", x_shape=(2, 8), w_shape=(8, 4))
GEMM = Product("Gemm", x_shape=(2, 8), w_shape=(8, 4))
CHANNELS = [0.01, 0.02, 0.005, 0.01]
ZEROS = [0, 0, 0, 0]


@dataclass(frozen=True)
class Case:
    """A graph, and what must be said of the node of one op in it."""

    name: str
    make: Callable[[], ModelProto]
    op: str
    rule: str
    """`pack/rule`; "": no rule of the pack mentions the op."""
    needs: str
    """Stands in what the rule asks for, or in the guard by way of which it asks."""
    has: tuple[str, ...]
    """Each stands in one of the lines about the graph."""
    pack: str = "ort-cpu"
    options: dict[str, Any] = field(default_factory=dict)


def grid_input(b: Builder, grid: Grid = U8, shape: tuple[int, ...] = (1, 3, 6, 6)) -> str:
    return b.dq(b.input("x", grid.type, shape), grid)


def two_users(op: str = "Sigmoid", other: str = "Relu") -> ModelProto:
    """The float result also feeds another node."""
    b = Builder()
    v = b.node(op, [grid_input(b)], "c")
    b.q(v, U8, b.output("y", "u8"))
    b.node(other, [v], b.output("z", "f32"))
    return b.model()


def two_quantizers(op: str = "Sigmoid") -> ModelProto:
    b = Builder()
    v = b.node(op, [grid_input(b)], "c")
    b.q(v, U8, b.output("y", "u8"))
    b.q(v, OTHER, b.output("z", "u8"))
    return b.model()


def float_output(op: str, **attributes: object) -> ModelProto:
    """Dequantized, computed, and left in float."""
    b = Builder()
    b.node(op, [grid_input(b)], b.output("y", "f32"), **attributes)
    return b.model()


def float_input(op: str, **attributes: object) -> ModelProto:
    """Computed in float, then quantized."""
    b = Builder()
    v = b.node(op, [b.input("x", "f32", (1, 3, 6, 6))], **attributes)
    b.q(v, OTHER, b.output("y", "u8"))
    return b.model()


def followed(op: str, by: str, **attributes: object) -> ModelProto:
    """A float op stands between the op and the Q."""
    b = Builder()
    v = b.node(by, [b.node(op, [grid_input(b)])], **attributes)
    b.q(v, OTHER, b.output("y", "u8"))
    return b.model()


def preceded(op: str, by: str, **attributes: object) -> ModelProto:
    """A float op stands between the DQ and the op."""
    b = Builder()
    v = b.node(op, [b.node(by, [grid_input(b)])], **attributes)
    b.q(v, OTHER, b.output("y", "u8"))
    return b.model()


def with_float(op: str, constant: object, *, grid: Grid = U8, left: bool = False) -> ModelProto:
    """A quantized and a float operand."""
    b = Builder()
    operands = [grid_input(b, grid), b.constant(constant, "f32", "c")]
    b.q(b.node(op, operands[::-1] if left else operands), grid, b.output("y", grid.type))
    return b.model()


def with_computed(op: str) -> ModelProto:
    b = Builder()
    other = b.node("Tanh", [b.input("f", "f32", (1, 3, 6, 6))], "c")
    b.q(b.node(op, [grid_input(b), other]), U8, b.output("y", "u8"))
    return b.model()


def computed_before_relu() -> ModelProto:
    """A quantized tensor and one in float are added; the sum goes to Relu, and that to Q."""
    b = Builder()
    other = b.node("Softsign", [b.input("f", "f32", (1, 3, 6, 6))])
    v = b.node("Relu", [b.node("Add", [grid_input(b), other])])
    b.q(v, I8, b.output("y", "i8"))
    return b.model()


def cast_before_quantizer() -> ModelProto:
    b = Builder()
    v = b.node("Cast", [b.input("x", "i32", (2, 3))], to=TensorProto.FLOAT)
    b.q(v, U8, b.output("y", "u8"))
    return b.model()


def identity_output() -> ModelProto:
    b = Builder()
    b.node("Identity", [grid_input(b)], b.output("y", "f32"))
    return b.model()


def run_time_scale(op: str) -> ModelProto:
    b = Builder()
    scale = b.input("s", "f32", ())
    v = b.node("DequantizeLinear", [b.input("x", "u8", (1, 3, 6, 6)), scale, b.constant(3, "u8")])
    b.q(b.node(op, [v]), U8, b.output("y", "u8"))
    return b.model()


def overridable(model: ModelProto, name: str) -> ModelProto:
    """An initializer becomes a graph input, too: a caller may override it."""
    tensor = next(each for each in model.graph.initializer if each.name == name)
    info = helper.make_tensor_value_info(name, tensor.data_type, tensor.dims)
    model.graph.input.append(info)
    return model


def scale_of(model: ModelProto, quantizer: str) -> str:
    node = next(node for node in model.graph.node if node.op_type == quantizer)
    return str(node.input[1])


def pooled_indices() -> ModelProto:
    b = Builder()
    v, _ = (
        b.node("MaxPool", [grid_input(b)], ["v", "i"], kernel_shape=[2, 2]),
        b.output("i", "i64"),
    )
    b.q(v, U8, b.output("y", "u8"))
    return b.model()


def split(second: Grid | None, opset: int = 19) -> ModelProto:
    """Split into two; the second part on another grid, or float."""
    b = Builder(opset)
    attributes = {"num_outputs": 2} if opset >= 18 else {}
    b.node("Split", [grid_input(b, U8, (4, 2))], ["p", "r"], axis=0, **attributes)
    b.q("p", U8, b.output("y", "u8"))
    if second is None:
        b.node("Tanh", ["r"], b.output("z", "f32"))
    else:
        b.q("r", second, b.output("z", second.type))
    return b.model()


def concat(second: Grid | None, y: Grid = U8) -> ModelProto:
    b = Builder()
    first = grid_input(b, U8, (2, 3))
    other = b.input("w", second.type if second else "f32", (2, 3))
    operands = [first, b.dq(other, second) if second else other]
    b.q(b.node("Concat", operands, axis=0), y, b.output("y", y.type))
    return b.model()


def bias_input(op: str) -> ModelProto:
    """A bias that is a float graph input."""
    b = Builder()
    shape = (1, 3, 6, 6) if op == "Conv" else (2, 8)
    x = grid_input(b, Grid(scale=0.02, zero_point=128), shape)
    codes = np.ones((4, 3, 3, 3) if op == "Conv" else (8, 4))
    w = b.dq(b.constant(codes, "i8", "w"), Grid("i8", 0.01, 0))
    v = b.node(op, [x, w, b.input("b", "f32", (4,))])
    b.q(v, Grid(scale=0.1, zero_point=120), b.output("y", "u8"))
    return b.model()


def gemm_bias_shape(shape: tuple[int, ...]) -> ModelProto:
    b = Builder()
    x = grid_input(b, Grid(scale=0.02, zero_point=128), (2, 8))
    w = b.dq(b.constant(np.ones((8, 4)), "i8", "w"), Grid("i8", 0.01, 0))
    v = b.node("Gemm", [x, w, b.constant(np.ones(shape), "f32", "b")])
    b.q(v, Grid(scale=0.1, zero_point=120), b.output("y", "u8"))
    return b.model()


def weight_input() -> ModelProto:
    """A weight that is a float graph input."""
    b = Builder()
    x = grid_input(b, Grid(scale=0.02, zero_point=128))
    v = b.node("Conv", [x, b.input("w", "f32", (4, 3, 3, 3))])
    b.q(v, Grid(scale=0.1, zero_point=120), b.output("y", "u8"))
    return b.model()


def pad(value: float, y: Grid = U8) -> ModelProto:
    b = Builder()
    operands = [
        grid_input(b),
        b.constant([0, 0, 1, 1, 0, 0, 1, 1], "i64"),
        b.constant(value, "f32"),
    ]
    b.q(b.node("Pad", operands, mode="constant"), y, b.output("y", "u8"))
    return b.model()


def resize(mode: str) -> ModelProto:
    b = Builder()
    scales = b.constant([1, 1, 2, 2], "f32")
    v = b.node("Resize", [grid_input(b), "", scales], mode=mode)
    b.q(v, U8, b.output("y", "u8"))
    return b.model()


def unknown_type() -> ModelProto:
    """Nobody says what a custom op makes."""
    b = Builder()
    codes = b.node("test::Unpack", [b.input("x", "u8", (1, 3, 6, 6))], "codes")
    v = b.node("DequantizeLinear", [codes, b.constant(0.05, "f32")])
    b.q(b.node("Sigmoid", [v]), U8, "y")
    b.output("y", "u8", (1, 3, 6, 6))
    return bare_model(b, "test")


def bare_model(b: Builder, domain: str) -> ModelProto:
    graph = helper.make_graph(b.nodes, "g", b.inputs, b.outputs, initializer=b.initializers)
    opsets = [helper.make_opsetid("", b.opset), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def unknown_rank() -> ModelProto:
    b = Builder()
    codes = b.node("test::Unpack", [b.input("x", "u8", (1, 3, 6, 6))], "codes")
    v = b.dq(codes, U8)
    b.q(b.node("Softmax", [v], axis=-1), OTHER, "y")
    b.output("y", "u8", (1, 3, 6, 6))
    return bare_model(b, "test")


def where(second: Grid) -> ModelProto:
    b = Builder()
    condition = b.input("c", "bool", (2, 3))
    operands = [b.dq(b.input(n, g.type, (2, 3)), g) for n, g in (("a", U8), ("b", second))]
    b.q(b.node("Where", [condition, *operands]), U8, b.output("y", "u8"))
    return b.model()


def reduce_mean(axes: list[int], opset: int = 13) -> ModelProto:
    b = Builder(opset)
    v = b.node("ReduceMean", [grid_input(b)], axes=axes, keepdims=1)
    b.q(v, OTHER, b.output("y", "u8"))
    return b.model()


def conv(**changes: Any) -> Callable[[], ModelProto]:
    return replace(CONV, **changes).model


def matmul(**changes: Any) -> Callable[[], ModelProto]:
    return replace(MATMUL, **changes).model


def gemm(**changes: Any) -> Callable[[], ModelProto]:
    return replace(GEMM, **changes).model


BIAS = {"bias": "i32"}
TO_PAD = {"attributes": (("pads", [1, 1, 1, 1]),)}
ABSENT = Grid(scale=0.05, zero_point=None)


def float_output_of(op: str, grid: Grid) -> ModelProto:
    b = Builder(21)
    b.node(op, [grid_input(b, grid)], b.output("y", "i64"), axis=1)
    return b.model()
