"""Small QDQ graphs: builders for the tests of the rule packs.

Graph inputs and outputs are integer tensors wherever a case allows it, so that results are compared
in codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

MS = "com.microsoft"
IR_VERSION = {10: 5, 11: 6, 12: 7, 13: 7, 15: 8, 17: 8, 18: 8, 19: 9, 21: 10, 22: 10, 23: 11}


@dataclass(frozen=True)
class Grid:
    """Scale, zero point and element type of a quantized tensor; zero point None: left out."""

    type: str = "u8"
    scale: ArrayLike = 0.05
    zero_point: ArrayLike | None = 0
    axis: int | None = None
    block_size: int | None = None


NUMPY = {
    "u8": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "u16": np.dtype(np.uint16),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "u4": np.dtype(ml_dtypes.uint4),
    "i4": np.dtype(ml_dtypes.int4),
    "u2": np.dtype(ml_dtypes.uint2),
    "i2": np.dtype(ml_dtypes.int2),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "i64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}
ONNX = {
    "u8": TensorProto.UINT8,
    "i8": TensorProto.INT8,
    "u16": TensorProto.UINT16,
    "i16": TensorProto.INT16,
    "i32": TensorProto.INT32,
    "u4": TensorProto.UINT4,
    "i4": TensorProto.INT4,
    "u2": TensorProto.UINT2,
    "i2": TensorProto.INT2,
    "f32": TensorProto.FLOAT,
    "f16": TensorProto.FLOAT16,
    "i64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}


@dataclass
class Builder:
    """Collects nodes; `model` makes the ModelProto. Names are given or counted."""

    opset: int = 19
    domain: str = ""
    scale_type: str = "f32"
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def fresh(self, stem: str) -> str:
        return f"{stem}_{len(self.nodes) + len(self.initializers)}"

    def input(self, name: str, type: str, shape: Sequence[int | str] | None) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, ONNX[type], shape))
        return name

    def output(self, name: str, type: str, shape: Sequence[int | str] | None = None) -> str:
        self.outputs.append(helper.make_tensor_value_info(name, ONNX[type], shape))
        return name

    def constant(self, value: ArrayLike, type: str, name: str = "") -> str:
        name = name or self.fresh("c")
        array = np.asarray(value).astype(NUMPY[type])
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: str | Sequence[str] = "",
        **attributes: Any,
    ) -> str:
        """Adds a node, `domain::op` for other domains than ONNX; the name of its first output."""
        domain, _, op = op.rpartition("::")
        names = [outputs or self.fresh(op.lower())] if isinstance(outputs, str) else list(outputs)
        given = {k: v for k, v in attributes.items() if v is not None}
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op, list(inputs), names, name=name, domain=domain, **given)
        )
        return names[0]

    def _parameters(self, grid: Grid) -> list[str]:
        names = [self.constant(grid.scale, self.scale_type)]
        if grid.zero_point is not None:
            codes = np.broadcast_to(np.asarray(grid.zero_point), np.shape(grid.scale))
            names.append(self.constant(codes, grid.type))
        return names

    def _quantizer(self, op: str) -> str:
        return f"{self.domain}::{op}" if self.domain else op

    def dq(self, codes: str, grid: Grid, output: str = "") -> str:
        inputs = [codes, *self._parameters(grid)]
        return self.node(
            self._quantizer("DequantizeLinear"),
            inputs,
            output,
            axis=grid.axis,
            block_size=grid.block_size,
        )

    def q(self, value: str, grid: Grid, output: str = "", output_dtype: int | None = None) -> str:
        inputs = [value, *self._parameters(grid)]
        return self.node(
            self._quantizer("QuantizeLinear"),
            inputs,
            output,
            axis=grid.axis,
            output_dtype=output_dtype,
        )

    def model(self) -> ModelProto:
        graph = helper.make_graph(
            self.nodes, "g", self.inputs, self.outputs, initializer=self.initializers
        )
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain or any(node.domain == MS for node in self.nodes):
            opsets.append(helper.make_opsetid(MS, 1))
        ir_version = IR_VERSION.get(self.opset, 8 if self.opset < 19 else 11)
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
        _state_shapes(model)
        return model


def _state_shapes(model: ModelProto) -> None:
    """Give graph outputs a shape, which the checker wants; Q and DQ are ONNX's for that."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        if node.domain == MS:
            node.domain, copy.opset_import[0].version = "", 21
    inferred = onnx.shape_inference.infer_shapes(copy)
    shapes = {value.name: value.type.tensor_type.shape for value in inferred.graph.output}
    for value in model.graph.output:
        value.type.tensor_type.shape.CopyFrom(shapes[value.name])


def unary(
    op: str,
    x: Grid = Grid(),
    y: Grid = Grid(scale=0.03, zero_point=3),
    *,
    shape: Sequence[int | str] = (1, 3, 6, 6),
    opset: int = 19,
    domain: str = "",
    extra: Sequence[tuple[ArrayLike, str]] = (),
    output_dtype: int | None = None,
    **attributes: Any,
) -> ModelProto:
    """x -> DQ -> op -> Q -> y; `extra` are further constant inputs of the op (value, type)."""
    b = Builder(opset, domain)
    v = b.dq(b.input("x", x.type, shape), x)
    v = b.node(op, [v, *(b.constant(value, type) for value, type in extra)], **attributes)
    b.q(v, y, b.output("y", y.type), output_dtype)
    return b.model()


def binary(
    op: str,
    left: Grid = Grid(zero_point=120),
    right: Grid = Grid(scale=0.02, zero_point=7),
    y: Grid = Grid(scale=0.07, zero_point=100),
    *,
    shapes: tuple[Sequence[int], Sequence[int]] = ((2, 3, 4), (2, 3, 4)),
    opset: int = 19,
    domain: str = "",
) -> ModelProto:
    """a, b -> DQ, DQ -> op -> Q -> y."""
    b = Builder(opset, domain)
    inputs = [
        b.dq(b.input(name, grid.type, shape), grid)
        for name, grid, shape in zip("ab", (left, right), shapes, strict=True)
    ]
    b.q(b.node(op, inputs), y, b.output("y", y.type))
    return b.model()


@dataclass(frozen=True)
class Product:
    """A Conv, MatMul or Gemm between DQ and Q, and what stands at its operands.

    `bias` is None, "i32" (on the grid of the products times `bias_scale`), or "f32".
    """

    op: str = "Conv"
    x: Grid = Grid(scale=0.02, zero_point=128)
    w: Grid = Grid(type="i8", scale=0.01, zero_point=0)
    y: Grid | None = Grid(scale=0.1, zero_point=120)
    x_shape: tuple[int | str, ...] = (1, 3, 6, 6)
    w_shape: tuple[int, ...] = (4, 3, 3, 3)
    bias: str | None = None
    bias_codes: ArrayLike = (30, -500, 700, 0)
    bias_scale: ArrayLike = 1.0
    bias_zero_point: ArrayLike | None = None
    weight: str = "codes"
    """How it is given: "codes" behind a DQ, "input" codes that are a graph input, or "f32"."""
    peak: int = 60
    """The largest magnitude among the weight's codes, taken from their zero point."""
    between: tuple[tuple[str, dict[str, Any]], ...] = ()
    opset: int = 19
    domain: str = ""
    attributes: tuple[tuple[str, object], ...] = ()
    seed: int = 0

    def model(self) -> ModelProto:
        b = Builder(self.opset, self.domain)
        operands = [b.dq(b.input("x", self.x.type, self.x_shape), self.x), self._weight(b)]
        if self.bias is not None:
            operands.append(self._bias(b))
        v = b.node(self.op, operands, **dict(self.attributes))
        for op, attributes in self.between:
            v = b.node(op, [v], **attributes)
        if self.y is None:
            b.nodes[-1].output[0] = b.output("y", "f32")
        else:
            b.q(v, self.y, b.output("y", self.y.type))
        return b.model()

    def _weight(self, b: Builder) -> str:
        rng = np.random.default_rng(self.seed)
        if self.weight == "f32":
            return b.constant(rng.normal(0, 0.3, self.w_shape), "f32", "w")
        if self.weight == "input":
            return b.dq(b.input("w", self.w.type, self.w_shape), self.w)
        low, high = np.iinfo(NUMPY[self.w.type]).min, np.iinfo(NUMPY[self.w.type]).max
        middle = 0 if low < 0 else 128
        codes = middle + rng.integers(-self.peak, self.peak + 1, self.w_shape)
        codes.flat[0] = middle + self.peak
        return b.dq(b.constant(np.clip(codes, low, high), self.w.type, "w"), self.w)

    def _bias(self, b: Builder) -> str:
        if self.bias == "f32":
            return b.constant(np.asarray(self.bias_codes) * 0.001, "f32", "b")
        scale = np.float32(self.x.scale) * np.asarray(self.w.scale, np.float32)
        scale = scale * np.asarray(self.bias_scale, np.float32)
        grid = Grid("i32", scale, self.bias_zero_point, 0 if scale.ndim else None)
        return b.dq(b.constant(self.bias_codes, "i32", "b"), grid)


def feeds(
    model: ModelProto, seed: int = 0, sizes: dict[str, int] | None = None
) -> dict[str, NDArray[Any]]:
    """Random codes over the whole range of each input, the extreme ones among them."""
    rng = np.random.default_rng(seed)
    result: dict[str, NDArray[Any]] = {}
    initialized = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in initialized:
            continue
        tensor = value.type.tensor_type
        shape = [
            d.dim_value if d.HasField("dim_value") else (sizes or {}).get(d.dim_param, 2)
            for d in tensor.shape.dim
        ]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            array = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            if array.size > 1:
                array.flat[0], array.flat[-1] = info.min, info.max
        else:
            array = rng.normal(0, 2, shape).astype(dtype)
        result[value.name] = array
    return result
