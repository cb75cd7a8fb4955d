"""What a model computes: onnxruntime without optimizations, exact arithmetic where ops accumulate.

onnxruntime runs the model once with every value visible.  Then the graph is walked: a node that
accumulates (Conv, MatMul, Gemm, average pools and their integer forms) is computed again exactly
from the codes it reads, and what follows from a result that differs is computed again as well.  So
neither the float32 rounding of the unfused run nor a saturating kernel of the machine counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, numpy_helper

from . import exact, wide
from .branches import inline_branches
from .sessions import Array, Arrays, CannotRun, Session, run_node, traced

INTEGER_ACCUMULATING = {
    ("", "QLinearConv"),
    ("", "ConvInteger"),
    ("", "QLinearMatMul"),
    ("", "MatMulInteger"),
    ("com.microsoft", "QLinearConv"),
    ("com.microsoft", "QGemm"),
    ("com.microsoft", "MatMulIntegerToFloat"),
    ("com.microsoft", "DynamicQuantizeMatMul"),
}
QUANTIZERS = {("", "QuantizeLinear"), ("com.microsoft", "QuantizeLinear")}
DEQUANTIZERS = {("", "DequantizeLinear"), ("com.microsoft", "DequantizeLinear")}


@dataclass(frozen=True)
class Values:
    """All values of a model's main graph for one set of inputs."""

    outputs: tuple[str, ...]
    measured: Arrays
    """As onnxruntime computed them, without optimizations."""
    exact: Arrays
    """The same, with what accumulates computed exactly."""


class Evaluator:
    """A model made ready to be evaluated on many inputs.

    An `If` whose condition is known is followed into its branch.  Raises CannotRun if onnxruntime
    cannot load or run the model.
    """

    def __init__(self, model: ModelProto, constants: Arrays | None = None) -> None:
        self.model = inline_branches(model, constants or {})
        self.outputs = tuple(value.name for value in model.graph.output)
        self._session = Session(traced(self.model))
        self._constants = {
            tensor.name: numpy_helper.to_array(tensor) for tensor in self.model.graph.initializer
        }

    def run(self, feeds: Arrays) -> Values:
        """Every value for these graph inputs (arrays by name)."""
        measured = {**self._constants, **feeds, **self._session.run(feeds)}
        return Values(self.outputs, measured, _exact_values(self.model, measured))


def _exact_values(model: ModelProto, measured: Arrays) -> dict[str, Array]:
    walk = _Walk(model, dict(measured))
    for node in model.graph.node:
        walk.visit(node)
    result = dict(walk.values)
    for name, array in walk.reals.items():
        with np.errstate(all="ignore"):
            result[name] = array.astype(measured[name].dtype)
    return result


@dataclass
class _Walk:
    model: ModelProto
    values: dict[str, Array]
    """As measured, with codes that turned out otherwise in their place."""
    reals: dict[str, Array] = field(default_factory=dict)
    """Float values known in float64."""
    moved: set[str] = field(default_factory=set)
    """Values that are not as measured."""
    decoded: dict[str, NodeProto] = field(default_factory=dict)
    """Outputs of DequantizeLinear, by name."""

    def visit(self, node: NodeProto) -> None:
        key = (node.domain.replace("ai.onnx", ""), node.op_type)
        if key in DEQUANTIZERS:
            self.decoded[node.output[0]] = node
        if key in INTEGER_ACCUMULATING:
            self._set(node.output[0], exact.evaluate(node, self._inputs(node)))
        elif key[0] == "" and key[1] in wide.OPS and self._is_float(node):
            operands = [self.real(name) if name else None for name in node.input]
            self.reals[node.output[0]] = _call(wide.OPS[key[1]], node, operands)
        elif any(name in self.reals or name in self.moved for name in node.input):
            self._recompute(node, key)

    def _is_float(self, node: NodeProto) -> bool:
        return self.values[node.output[0]].dtype.kind == "f" and all(
            self.values[name].dtype.kind in "fV" for name in node.input if name
        )

    def _inputs(self, node: NodeProto) -> list[Array | None]:
        return [self.values[name] if name else None for name in node.input]

    def real(self, name: str) -> Array:
        """A float value in float64, without the rounding of the DequantizeLinear that made it."""
        if name in self.reals:
            return self.reals[name]
        node = self.decoded.get(name)
        if node is None:
            return self.values[name].astype(np.float64)
        codes, scale, *zero_point = self._inputs(node)
        assert codes is not None and scale is not None
        stated = _attributes(node)
        axis, block = stated.get("axis", 1), stated.get("block_size", 0)
        return wide.dequantize(codes, scale, zero_point[0] if zero_point else None, axis, block)

    def _set(self, name: str, result: Array) -> None:
        if result.dtype.kind == "f":
            self.reals[name] = result.astype(np.float64)
        elif name not in self.values or not same(result, self.values[name]):
            self.values[name] = result
            self.moved.add(name)

    def _recompute(self, node: NodeProto, key: tuple[str, str]) -> None:
        if key in QUANTIZERS and node.input[0] in self.reals:
            self._set(node.output[0], self._quantized(node))
        elif key[0] == "" and any(name in self.reals for name in node.input):
            operands = [self._widest(name) if name else None for name in node.input]
            for name, result in zip(
                node.output, _by_definition(node, operands, self.model), strict=False
            ):
                self._set(name, result)
        else:
            results = run_node(node, self._inputs(node), self.model.opset_import)
            for name, result in zip((n for n in node.output if n), results, strict=True):
                self._set_measured(name, result)

    def _set_measured(self, name: str, result: Array) -> None:
        if not same(result, self.values[name]):
            self.values[name] = result
            self.moved.add(name)

    def _widest(self, name: str) -> Array:
        if name in self.reals or self.values[name].dtype.kind == "f":
            return self.real(name)
        return self.values[name]

    def _quantized(self, node: NodeProto) -> Array:
        _, scale, *zero_point = self._inputs(node)
        assert scale is not None
        stated = _attributes(node)
        zero = zero_point[0] if zero_point else None
        return wide.quantize(
            self.reals[node.input[0]],
            scale,
            zero,
            _code_type(stated) if zero is None else zero.dtype,
            stated.get("axis", 1),
            stated.get("block_size", 0),
        )


def _code_type(stated: dict[str, Any]) -> np.dtype[Any]:
    """Of a QuantizeLinear without zero point."""
    number = stated.get("output_dtype", 0) or onnx.TensorProto.UINT8
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))


def same(one: Array, other: Array) -> bool:
    """Equal type, shape and content; NaN equals NaN."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        return bool(np.array_equal(one, other, equal_nan=True))
    return bool(np.array_equal(one, other))


def _attributes(node: NodeProto) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        result[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return result


def _call(op: Callable[..., Array], node: NodeProto, operands: list[Array | None]) -> Array:
    stated = _attributes(node)
    if node.op_type == "Conv":
        stated.pop("kernel_shape", None)
    with np.errstate(all="ignore"):
        return op(*operands, **stated)


def _by_definition(node: NodeProto, operands: list[Array | None], model: ModelProto) -> list[Array]:
    """The node on float64 operands by onnx's own reference."""
    from onnx.reference import ReferenceEvaluator

    opsets = {entry.domain: entry.version for entry in model.opset_import}
    evaluator = ReferenceEvaluator(node, opsets=opsets)
    given = {n: a for n, a in zip(node.input, operands, strict=True) if n and a is not None}
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(value) for value in evaluator.run(None, given)]
    except Exception as problem:  # the reference raises whatever numpy raises
        raise CannotRun(f"onnx reference, {node.op_type}: {problem}") from None
