"""Rules that round a tensor: the original with the rounded tensor in the place of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from . import wide
from .sessions import Array

SLACK = 1e-4
"""Of a quantum: the float32 rounding of quantizing and dequantizing."""


class LossyMismatch(Exception):
    """A tensor was made that is not the rounding of one of the original, or not close enough."""


def rounded_like(before: ModelProto, after: ModelProto, quanta: float) -> ModelProto:
    """The original with each constant float tensor that `after` holds quantized replaced by what
    that stands for.

    Raises LossyMismatch if a tensor was made that is further than `quanta` of its own quanta from
    every tensor of the original.
    """
    originals = dict(_constants(before))
    kept = {_content(*parts[:3]) for _, _, parts in _quantized(before)}
    result = ModelProto()
    result.CopyFrom(before)
    tensors = {t.name: numpy_helper.to_array(t) for t in after.graph.initializer}
    for name, values, parts in _quantized(after):
        if _content(*parts[:3]) in kept:
            continue
        source = _source(values, parts[1], originals, quanta, parts[3])
        if source is None:
            raise LossyMismatch(
                f"{name} is no rounding of a tensor of the original within {quanta:g} quanta"
            )
        decoder = next(node for node in after.graph.node if name in node.output)
        _replace(result, source, decoder, tensors)
    return result


def _content(codes: Array, scale: Array, zero_point: Array | None) -> tuple[bytes, bytes, bytes]:
    return codes.tobytes(), scale.tobytes(), b"" if zero_point is None else zero_point.tobytes()


Parts = tuple[Array, Array, Array | None, tuple[int, int]]


def _quantized(model: ModelProto) -> Iterator[tuple[str, Array, Parts]]:
    """Constants behind a DequantizeLinear: the name of its output, the numbers, and the parts."""
    tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "DequantizeLinear" or any(n and n not in tensors for n in node.input):
            continue
        codes, scale = tensors[node.input[0]], tensors[node.input[1]]
        zero = tensors[node.input[2]] if len(node.input) > 2 and node.input[2] else None
        axis, block = _number(node, "axis", 1), _number(node, "block_size", 0)
        values = wide.dequantize(codes, scale, zero, axis, block)
        yield node.output[0], values, (codes, scale, zero, (axis, block))


def _number(node: NodeProto, name: str, default: int) -> int:
    return next((int(each.i) for each in node.attribute if each.name == name), default)


def _constants(model: ModelProto) -> Iterator[tuple[str, Array]]:
    """Float tensors of the original, stored or dequantized, by name; no scales of quantizers."""
    parameters = {
        name
        for node in model.graph.node
        if node.op_type in ("QuantizeLinear", "DequantizeLinear")
        for name in node.input[1:]
    }
    for stored in model.graph.initializer:
        array = numpy_helper.to_array(stored)
        if array.dtype.kind == "f" and stored.name not in parameters:
            yield stored.name, array.astype(np.float64)
    for name, values, _ in _quantized(model):
        yield name, values


def _source(
    values: Array, scale: Array, originals: dict[str, Array], quanta: float, layout: tuple[int, int]
) -> str | None:
    steps = np.abs(wide.spread(scale, values.shape, *layout))
    for name, array in originals.items():
        if array.shape == values.shape:
            with np.errstate(all="ignore"):
                apart = np.abs(array - values) <= steps * (quanta + SLACK) + np.abs(array) * 1e-6
            if np.all(apart):
                return name
    return None


def _replace(model: ModelProto, name: str, decoder: NodeProto, tensors: dict[str, Array]) -> None:
    """Let a constant of the model be what a DequantizeLinear of the other model makes."""
    graph = model.graph
    for stored in list(graph.initializer):
        if stored.name == name:
            graph.initializer.remove(stored)
    for node in list(graph.node):
        if name in node.output:
            graph.node.remove(node)
    others = list(graph.node)
    del graph.node[:]
    made = graph.node.add()
    made.CopyFrom(decoder)
    made.name = f"rounded_{name}"
    made.output[0] = name
    for index, operand in enumerate(decoder.input):
        if operand:
            made.input[index] = f"rounded_{name}_{index}"
            graph.initializer.append(numpy_helper.from_array(tensors[operand], made.input[index]))
    graph.node.extend(others)
