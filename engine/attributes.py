"""Node attributes: AttributeProto to plain Python values and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, TensorProto, numpy_helper

if TYPE_CHECKING:
    from .graph import Node


def attribute(node: Node, name: str, default: Any = None) -> Any:
    """The decoded attribute `name` of `node`, or `default` where the node does not state it."""
    proto = node.attributes.get(name)
    return default if proto is None else decode(proto)


def decode(proto: AttributeProto) -> Any:
    """An int, float, str, ndarray, tuple of these, or the message itself (graph, type, sparse
    tensor).

    Strings that are not UTF-8 stay bytes. A float has float32 precision, as stored.
    """
    kind = proto.type
    if kind == AttributeProto.INT:
        return proto.i
    if kind == AttributeProto.INTS:
        return tuple(proto.ints)
    if kind == AttributeProto.FLOAT:
        return proto.f
    if kind == AttributeProto.STRING:
        return _text(proto.s)
    if kind == AttributeProto.FLOATS:
        return tuple(proto.floats)
    if kind == AttributeProto.STRINGS:
        return tuple(_text(item) for item in proto.strings)
    if kind == AttributeProto.TENSOR:
        return numpy_helper.to_array(proto.t)
    return _message(proto)


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _message(proto: AttributeProto) -> Any:
    kind = proto.type
    if kind == AttributeProto.TENSORS:
        return tuple(numpy_helper.to_array(item) for item in proto.tensors)
    if kind == AttributeProto.GRAPH:
        return proto.g
    if kind == AttributeProto.GRAPHS:
        return tuple(proto.graphs)
    if kind == AttributeProto.SPARSE_TENSOR:
        return proto.sparse_tensor
    if kind == AttributeProto.TYPE_PROTO:
        return proto.tp
    raise ValueError(f"attribute {proto.name!r} has no value that can be read")


def encode(name: str, value: Any, kind: int = 0) -> AttributeProto:
    """The attribute `name` holding an int, float, str, bytes, ndarray, TensorProto or a sequence.

    `kind` is an `AttributeProto.AttributeType` and is needed only where the value does not
    tell: an empty sequence, or an int that the schema wants as a float. TypeError if no type fits.
    """
    proto = AttributeProto(name=name)
    kind = kind or _kind_of(name, value)
    proto.type = kind  # type: ignore[assignment]  # the stub's enum is an int at run time
    if kind == AttributeProto.INT:
        proto.i = int(value)
    elif kind == AttributeProto.FLOAT:
        proto.f = float(value)
    elif kind == AttributeProto.STRING:
        proto.s = _data(value)
    elif kind == AttributeProto.INTS:
        proto.ints.extend(int(item) for item in value)
    elif kind == AttributeProto.FLOATS:
        proto.floats.extend(float(item) for item in value)
    elif kind == AttributeProto.STRINGS:
        proto.strings.extend(_data(item) for item in value)
    elif kind == AttributeProto.TENSOR:
        proto.t.CopyFrom(
            value if isinstance(value, TensorProto) else numpy_helper.from_array(value)
        )
    else:
        raise TypeError(f"attribute {name!r} of kind {kind} cannot be made from {value!r}")
    return proto


def _data(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _kind_of(name: str, value: Any) -> int:
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return AttributeProto.INT
    if isinstance(value, (float, np.floating)):
        return AttributeProto.FLOAT
    if isinstance(value, (str, bytes)):
        return AttributeProto.STRING
    if isinstance(value, (np.ndarray, TensorProto)):
        return AttributeProto.TENSOR
    if isinstance(value, (tuple, list)) and value:
        return _kind_of_items(name, value)
    raise TypeError(f"attribute {name!r} cannot be made from {value!r}")


def _kind_of_items(name: str, items: tuple[Any, ...] | list[Any]) -> int:
    kinds = {_kind_of(name, item) for item in items}
    if kinds == {AttributeProto.INT}:
        return AttributeProto.INTS
    if kinds <= {AttributeProto.INT, AttributeProto.FLOAT}:
        return AttributeProto.FLOATS
    if kinds == {AttributeProto.STRING}:
        return AttributeProto.STRINGS
    raise TypeError(f"attribute {name!r} cannot be made from {items!r}")
