"""Commits replacements: whole or not at all, and only where the graph stays valid."""

from __future__ import annotations

from .. import dtypes
from ..errors import Refused
from ..graph import Node, Value
from ..inference import type_of
from ..protocols import Replacement
from ..schemas.typecheck import ABSENT
from .change import Change
from .forward import move_uses, plan_outputs, take_outputs
from .place import place


def commit(replacement: Replacement, provenance: str = "") -> Change:
    """Apply a replacement to its graph; `provenance` is the `pack/rule` noted on the new nodes.

    Raises Refused, with the graph as it was, if an element type does not fit, an op does not exist
    at the model's opset, no position in the graph suits operands and users, or a removed value is
    still used. Values keep their names; nodes that become dead are removed. Time does not depend
    on the size of the graph, but for the uses that are forwarded.
    """
    change = Change(replacement.anchor.graph)
    try:
        _apply(replacement, provenance, change)
    except Refused:
        change.undo()
        raise
    return change


def _apply(replacement: Replacement, provenance: str, change: Change) -> None:
    for value, dtype in replacement.retype:
        if value.is_input or value.is_output:
            raise Refused(f"{value.name!r} is a graph input or output and keeps its type")
        change.retype(value, dtype)
    forward = replacement.forward
    if forward:
        _check_forwarded_types(forward)
    taken, identities = plan_outputs(change.graph, forward) if forward else ([], [])
    nodes = [*replacement.nodes, *identities]
    roots = _roots(nodes, forward)
    if not roots:
        raise Refused("the replacement stands for no output of what it removes")
    _check_types(nodes, change)
    _retire(replacement.removed, change)
    for root in roots:
        if root.alive:
            raise Refused(f"node {root.name!r} ({root.op}) is replaced but not removed")
    _name(nodes, replacement, roots, provenance)
    place(nodes, roots, change.graph.model)
    for node in nodes:
        _insert(node, replacement, change)
    for old, new in forward:
        if (old, new) not in taken:
            move_uses(old, new, change)
    take_outputs(taken, change)
    _check_nothing_left(replacement.removed)
    if replacement.retype:
        _check_neighbours(replacement.retype)
    change.sweep()


def _roots(nodes: list[Node], forward: list[tuple[Value, Value]]) -> list[Node]:
    """The nodes whose outputs the replacement produces or forwards, each once."""
    found = [
        value.producer
        for node in nodes
        for value in node.outputs
        if value is not None and value.producer is not None
    ]
    found += [old.producer for old, _ in forward if old.producer is not None]
    return found if len(found) < 2 else list(dict.fromkeys(found))


def _check_forwarded_types(forward: list[tuple[Value, Value]]) -> None:
    for old, new in forward:
        before, after = type_of(old, infer=False), type_of(new, infer=False)
        if before and after and before != after:
            raise Refused(_type_differs(old, before, after))


def _type_differs(value: Value, before: int, after: int) -> str:
    was, becomes = dtypes.short_name(before), dtypes.short_name(after)
    return f"the element type of {value.name!r} would change from {was} to {becomes}"


def _check_types(nodes: list[Node], change: Change) -> None:
    """Type the outputs of new nodes, and hold them against what is known of the old values."""
    for node in nodes:
        for value, found in zip(node.outputs, _derived_types(node), strict=True):
            if value is None:
                continue
            known = value.dtype
            if not known and value.producer is not None:
                known = type_of(value, infer=False)
            if known and found and known != found:
                raise Refused(_type_differs(value, known, found))
            if found and not value.dtype:
                change.retype(value, found)


def _derived_types(node: Node) -> tuple[int, ...]:
    inputs = tuple(
        [ABSENT if value is None else value.dtype or type_of(value, False) for value in node.inputs]
    )
    model = node.graph.model
    version = model.version(node.op)
    return model.schemas.output_types(node.op, version, inputs, len(node.outputs), node.attributes)


def _retire(removed: list[Node], change: Change) -> None:
    for node in removed:
        if node.alive:
            change.retire(node)
        elif node not in change.removed:
            raise Refused(f"node {node.name!r} ({node.op}) is no longer part of the graph")


def _name(nodes: list[Node], replacement: Replacement, roots: list[Node], provenance: str) -> None:
    """The last new node, which makes the result, takes the name of the node that it replaces."""
    if not nodes:
        return
    anchor = replacement.anchor
    names = anchor.graph.model.names
    rule = _history(replacement.removed, provenance)
    base = anchor.name or next((value.name for value in roots[-1].outputs if value), "")
    for node in nodes:
        node.rule = rule
    for node in nodes[:-1]:
        node.name = names.fresh_node(_derived_name(base, node.op))
    if anchor.name and not anchor.alive:
        nodes[-1].name = names.inherited(anchor.name)
    else:
        nodes[-1].name = names.fresh_node(_derived_name(base, nodes[-1].op))


def _derived_name(base: str, op: str) -> str:
    return f"{base}_{op.rpartition('::')[2].lower()}"


def _history(removed: list[Node], provenance: str) -> str:
    """The rules that made the removed nodes, then this one, each once."""
    earlier = [node.rule for node in removed if node.rule]
    if not earlier:
        return provenance
    return " ".join(dict.fromkeys(" ".join([*earlier, provenance]).split()))


def _insert(node: Node, replacement: Replacement, change: Change) -> None:
    graph = change.graph
    for value in node.inputs:
        if value is None:
            continue
        if value.graph is not graph:
            raise Refused(f"operand {value.name!r} belongs to another graph")
        producer = value.producer
        if producer is not None:
            if not producer.alive:
                raise Refused(f"operand {value.name!r} is removed by the rewrite itself")
        elif value.constant and value.tensor is None:
            change.attach_constant(value)
    for value in node.outputs:
        if value is not None and not value.name:
            change.attach(value, f"{node.name}_output")
    change.insert(node)


def _check_nothing_left(removed: list[Node]) -> None:
    for node in removed:
        for value in node.outputs:
            if value is None or value.producer is not node:
                continue
            if value.is_output:
                raise Refused(f"{value.name!r} is a graph output")
            if value.uses:
                raise Refused(f"{value.name!r} is still used by {next(iter(value.uses)).name!r}")


def _check_neighbours(retyped: list[tuple[Value, int]]) -> None:
    """Producers and users of values of new type must take and give it."""
    near: dict[Node, None] = {}
    for value, _ in retyped:
        if value.producer is not None and value.producer.alive:
            near[value.producer] = None
        near.update(dict.fromkeys(value.uses))
    for node in near:
        if node.bodies:
            raise Refused(f"a value whose type changes is captured by a body of {node.name!r}")
        for output, found in zip(node.outputs, _derived_types(node), strict=True):
            if output is not None and output.dtype and found and output.dtype != found:
                raise Refused(_type_differs(output, output.dtype, found))
