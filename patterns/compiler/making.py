"""What generated builders call: constants, attributes and ops of the nodes that a rule makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from onnx import AttributeProto

from qrewrite.engine import dtypes
from qrewrite.engine.attributes import decode, encode
from qrewrite.engine.errors import Refused
from qrewrite.engine.graph import Graph, Model, Node, Value
from qrewrite.engine.protocols import Replacement
from qrewrite.engine.schemas.known import split_op

from ..functions.quantized import Quantized, type_part, zeros
from .compare import compared
from .connected import recoded
from .runtime import equal_attribute

MICROSOFT = "com.microsoft"


def as_value(graph: Graph, thing: Any, hint: str) -> Value:
    """Something computed as a value of the graph; ``Refused`` where it is not known."""
    if isinstance(thing, Value):
        return thing
    if isinstance(thing, Quantized):
        return as_value(graph, thing.data, hint)
    if thing is None:
        raise Refused(f"a constant for {hint!r} could not be computed")
    if isinstance(thing, bool | int):
        thing = np.asarray(thing, np.int64)
    elif isinstance(thing, float):
        thing = np.asarray(thing, np.float32)
    return graph.new_constant(np.asarray(thing), hint)


def scalar(graph: Graph, value: Value) -> Value:
    """A scale or zero point as ops of com.microsoft take them: rank 0 where it is shape [1]."""
    if value.constant:
        array = value.array()
        if array.ndim == 1 and array.size == 1:
            return graph.new_constant(array.reshape(()), value.name or "scale")
    return value


def zero_point(graph: Graph, given: Value | None, data: Any, scale: Any, hint: str) -> Value:
    """The zero point of a tensor, made where it is absent: zeros in the scale's shape."""
    if given is not None:
        return given
    shape = np.shape(scale.array()) if _is_constant(scale) else ()
    made = zeros(type_part(data), shape)
    if made is None:
        raise Refused(f"the element type of {hint!r} is not known")
    return graph.new_constant(made, hint)


def _is_constant(scale: Any) -> bool:
    return isinstance(scale, Value) and scale.constant


class Passed:
    """The attributes of a matched node, but for some, on a node of another op.

    What one op has by default and the other has not is written out; what the other does not know is
    left out if it is the default, else the rewrite is refused.
    """

    def __init__(self, left_out: frozenset[str]) -> None:
        self._left_out = left_out
        self._known: dict[tuple[object, ...], tuple[dict[str, AttributeProto], dict[str, Any]]] = {}

    def __call__(self, node: Node, op: str) -> dict[str, AttributeProto]:
        found = {
            name: proto for name, proto in node.attributes.items() if name not in self._left_out
        }
        if op == node.op:
            return found
        written, unknown = self._difference(node, op)
        for name, default in unknown.items():
            proto = found.pop(name, None)
            if proto is not None and not _is_default(proto, default):
                raise Refused(f"{op} has no attribute {name}")
        for name, proto in written.items():
            found.setdefault(name, proto)
        return found

    def _difference(self, node: Node, op: str) -> tuple[dict[str, AttributeProto], dict[str, Any]]:
        """Defaults to be written out, and attributes with their defaults that ``op`` lacks."""
        model = node.graph.model
        versions = (_version(model, node.op), _version(model, op))
        key = (node.op, op, *versions)
        if key not in self._known:
            source = model.schemas.schema(node.op, versions[0])
            target = model.schemas.schema(op, versions[1])
            written: dict[str, AttributeProto] = {}
            unknown: dict[str, Any] = {}
            if source is not None and target is not None:
                for name, spec in source.attributes.items():
                    there = target.attributes.get(name)
                    if there is None:
                        unknown[name] = spec.default
                    elif name not in self._left_out and _differs(spec.default, there.default):
                        written[name] = encode(name, spec.default, spec.kind)
            self._known[key] = written, unknown
        return self._known[key]


def _differs(default: Any, there: Any) -> bool:
    """Whether leaving out what has a default would mean something else there."""
    return default is not None and (there is None or not equal_attribute(there, default))


def _version(model: Model, op: str) -> int:
    return model.opsets.get(split_op(op)[0], 1)


def _is_default(proto: AttributeProto, default: Any) -> bool:
    return default is not None and equal_attribute(decode(proto), default)


def put(
    attributes: dict[str, AttributeProto],
    name: str,
    value: Any,
    op: str,
    model: Model,
    optional: bool,
) -> None:
    """Set an attribute; one that is None is left out if it may be, else the rewrite is refused."""
    if value is None:
        if optional:
            attributes.pop(name, None)
            return
        raise Refused(f"the attribute {name} of {op} is not known")
    version = _version(model, op)
    schema = model.schemas.schema(op, version)
    spec = None if schema is None else schema.attributes.get(name)
    default = model.schemas.default(op, version, name)
    if default is not None and equal_attribute(default, value):
        attributes.pop(name, None)
        return
    if schema is not None and spec is None:
        raise Refused(f"{op} has no attribute {name} at this opset")
    if isinstance(value, np.ndarray) and (spec is None or spec.kind != AttributeProto.TENSOR):
        value = value.item() if value.ndim == 0 else tuple(value.tolist())
    try:
        attributes[name] = encode(name, value, 0 if spec is None else spec.kind)
    except (TypeError, ValueError) as problem:
        raise Refused(f"the attribute {name} of {op}: {problem}") from None


def quantizer(
    graph: Graph, op: str, like: Node | None, dtype: int, attributes: dict[str, AttributeProto]
) -> str:
    """QuantizeLinear or DequantizeLinear in the domain of the matched one, else ONNX's if the opset
    allows the type, else com.microsoft's."""
    domain = split_op(like.op)[0] if like is not None else ""
    if not domain and not _takes(graph.model, op, dtype):
        domain = MICROSOFT
    if not domain:
        return op
    if not _takes(graph.model, f"{domain}::{op}", dtype):
        raise Refused(f"no {op} takes {dtypes.short_name(dtype)} at this opset")
    for name in [name for name in attributes if name != "axis"]:
        if name == "block_size" and attributes[name].i:
            raise Refused(f"{op} of {domain} has no blocks here")
        del attributes[name]
    return f"{domain}::{op}"


def _takes(model: Model, op: str, dtype: int) -> bool:
    schema = model.schemas.schema(op, _version(model, op))
    if schema is None:
        return False
    parameter = schema.input(0) if op.endswith("DequantizeLinear") else schema.output(0)
    return parameter is None or not dtype or dtype in parameter.types


def replayed(graph: Graph, chain: tuple[Node, ...], value: Value, made: list[Node]) -> Value:
    """The nodes of a chain again, on another value; the last result, of none the value."""
    for node in chain:
        result = graph.new_value()
        inputs = [value, *node.inputs[1:]]
        made.append(graph.new_node(node.op, inputs, [result], dict(node.attributes)))
        value = result
    return value


def replayed_as(
    graph: Graph,
    chain: tuple[Node, ...],
    value: Value,
    made: list[Node],
    forward: list[tuple[Value, Value]],
    old: Value,
) -> None:
    """The same where the last result stands for an old value."""
    if not chain:
        forward.append((old, value))
        return
    value = replayed(graph, chain[:-1], value, made)
    last = chain[-1]
    inputs = [value, *last.inputs[1:]]
    made.append(graph.new_node(last.op, inputs, [old], dict(last.attributes)))


def all_known(things: list[Any]) -> tuple[Any, ...] | None:
    """A list that was computed, if every element could be."""
    return None if any(thing is None for thing in things) else tuple(things)


def joined(rows: Iterable[Iterable[Node]]) -> list[Node]:
    return [node for row in rows for node in row]


def environment() -> Mapping[str, Any]:
    """The names that generated builders refer to."""
    names = (
        all_known,
        as_value,
        compared,
        joined,
        put,
        quantizer,
        recoded,
        replayed,
        replayed_as,
        scalar,
        type_part,
        zero_point,
        Replacement,
    )
    return {each.__name__: each for each in names}
