"""``connected t from y through OPS`` and ``t = recode(t, u8)``: tensors that change type together.

Integer tensors that some ops hand on unchanged have one element type.  Moving every code and every
zero point by half of the range changes none of the values that they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

import numpy as np

from qrewrite.engine import dtypes
from qrewrite.engine.errors import Refused
from qrewrite.engine.graph import Graph, Node, Value, consumers
from qrewrite.engine.inference import type_of
from qrewrite.engine.protocols import Replacement

from .anchor import is_quantizer

_OTHER_SIGN = {
    dtypes.number(one): dtypes.number(other)
    for one, other in (("i8", "u8"), ("u8", "i8"), ("i16", "u16"), ("u16", "i16"))
}


def connected(start: Value, ops: frozenset[str]) -> list[Value]:
    """The tensors joined to ``start``, in the order they are found.

    Q makes them, DQ reads them, and nodes of ``ops`` hand them on: their operands and outputs of
    the same element type belong to the set, and constants among the operands do.  ``ops`` must move
    or choose elements, and put in none of their own.  Refused, with what stands in the way, where a
    tensor is a graph input or output or has any other producer or consumer.
    """
    kind = type_of(start)
    found = {start: None}
    waiting = [start]
    while waiting:
        value = waiting.pop()
        for other in _neighbours(value, kind, ops):
            if other not in found:
                found[other] = None
                waiting.append(other)
    return list(found)


def _neighbours(value: Value, kind: int, ops: frozenset[str]) -> Iterable[Value]:
    if value.is_input or value.is_output:
        raise Refused(f"{value.name!r} is a graph {'input' if value.is_input else 'output'}")
    nodes = consumers(value)
    producer = value.producer
    if producer is not None:
        nodes.append(producer)
    elif not value.constant or value.outer is not None:
        raise Refused(f"{value.name!r} is made by no node")
    for node in nodes:
        if node.op in ops:
            yield from (each for each in _tensors(node) if type_of(each) == kind)
        elif not _is_end(node, value):
            way = "made" if node is producer else "used"
            raise Refused(f"{value.name!r} is {way} by {node.op} {node.name!r}")


def _tensors(node: Node) -> list[Value]:
    return [value for value in (*node.inputs, *node.outputs) if value is not None]


def _is_end(node: Node, value: Value) -> bool:
    """A Q that makes the tensor, or a DQ that reads it as its codes and as nothing else."""
    if not is_quantizer(node.op):
        return False
    if node is value.producer:
        return node.op.endswith("::QuantizeLinear") or node.op == "QuantizeLinear"
    return (
        node.op.endswith("DequantizeLinear") and node.inputs[0] is value and value.uses[node] == 1
    )


def recoded(anchor: Node, start: Value, ops: frozenset[str], kind: int) -> Replacement:
    """A replacement that moves the tensors joined to ``start`` to the type of the other sign.

    Refused as by ``connected``, and where ``kind`` is no such type or a zero point is not constant.
    """
    old = type_of(start)
    if _OTHER_SIGN.get(old) != kind:
        name = dtypes.short_name
        raise Refused(f"{start.name!r} is {name(old)}, which cannot be recoded as {name(kind)}")
    members = connected(start, ops)
    graph, shift = anchor.graph, _shift(old, kind)
    constants = {
        value: graph.new_constant(_moved(value, shift, kind), value.name)
        for value in members
        if value.producer is None
    }
    replacement = Replacement(anchor, [])
    nodes = {node for value in members for node in (value.producer, *value.uses) if node}
    for node in sorted(nodes, key=attrgetter("order")):
        if is_quantizer(node.op):
            made = _with_zero_point(node, graph, old, kind)
        elif any(value in constants for value in node.inputs):
            made = _with_constants(node, graph, constants)
        else:
            continue
        replacement.removed.append(node)
        replacement.nodes.append(made)
    replacement.retype = [(value, kind) for value in members if value not in constants]
    return replacement


def _shift(old: int, new: int) -> int:
    before, after = dtypes.integer_range(old), dtypes.integer_range(new)
    assert before is not None and after is not None
    return after[0] - before[0]


def _moved(value: Value, shift: int, kind: int) -> np.ndarray:
    if not value.constant:
        raise Refused(f"the zero point {value.name!r} is not constant")
    return (value.array().astype(np.int64) + shift).astype(dtypes.numpy_dtype(kind))


def _with_zero_point(node: Node, graph: Graph, old: int, kind: int) -> Node:
    """A Q or DQ whose zero point has moved; one that is absent becomes half of the range."""
    shift = _shift(old, kind)
    codes, scale = node.inputs[0], node.inputs[1]
    given = node.inputs[2] if len(node.inputs) > 2 else None
    assert scale is not None
    if given is not None:
        moved = _moved(given, shift, kind)
        hint = given.name
    else:
        if not scale.constant:
            raise Refused(f"{node.op} {node.name!r} has neither a zero point nor a constant scale")
        moved = np.full(scale.array().shape, shift, dtypes.numpy_dtype(kind))
        hint = f"{scale.name}_zero_point"
    attributes = {name: proto for name, proto in node.attributes.items() if name != "output_dtype"}
    if node.op.endswith("DequantizeLinear"):
        attributes = dict(node.attributes)
    inputs = [codes, scale, graph.new_constant(moved, hint)]
    return graph.new_node(node.op, inputs, list(node.outputs), attributes)


def _with_constants(node: Node, graph: Graph, constants: dict[Value, Value]) -> Node:
    inputs = [constants.get(value, value) if value is not None else None for value in node.inputs]
    return graph.new_node(node.op, inputs, list(node.outputs), dict(node.attributes))
