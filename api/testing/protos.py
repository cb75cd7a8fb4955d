"""ONNX messages of what has been settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from .schemas import schema
from .structure import PatternNode
from .world import NUMPY, Array, World

IR_VERSIONS = {10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9}
"""The IR version that came with an opset; 10 from opset 21 on."""


def ir_version(opset: int) -> int:
    return IR_VERSIONS.get(opset, 10)


def make_node(world: World, node: PatternNode, name_of: Callable[[str], str]) -> NodeProto:
    domain, _, op = node.op.rpartition("::")
    proto = helper.make_node(
        op,
        [name_of(slot) if slot else "" for slot in node.inputs],
        [name_of(slot) for slot in node.outputs],
        domain=domain,
    )
    for name, value in sorted(world.stated(node).items()):
        proto.attribute.append(_attribute(node.op, name, value, world.opset))
    while proto.input and not proto.input[-1]:
        proto.input.pop()
    return proto


def _attribute(op: str, name: str, value: Any, opset: int) -> onnx.AttributeProto:
    found = schema(op, opset)
    spec = found.attributes.get(name) if found else None
    if isinstance(value, np.ndarray) and (spec is None or spec.kind == onnx.AttributeProto.TENSOR):
        return helper.make_attribute(name, numpy_helper.from_array(value))
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if spec is not None and spec.kind == onnx.AttributeProto.FLOAT:
        value = float(value)
    elif spec is not None and spec.kind == onnx.AttributeProto.INT:
        value = int(value)
    elif isinstance(value, tuple):
        value = list(value)
    kind = spec.kind if spec is not None and isinstance(value, list) else None
    return helper.make_attribute(name, value, attr_type=kind)


def tensor(array: Array, name: str) -> onnx.TensorProto:
    return numpy_helper.from_array(array, name)


def value_info(name: str, dtype: str, shape: tuple[int, ...] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(NUMPY[dtype]), shape)
