"""Which nodes to look at again after a change: those at which a match may have become possible."""

from __future__ import annotations

from collections.abc import Container

from ..edits.change import Change
from ..graph import Node, Value

_FEW = 8
"""Consumers up to which those of a value are visited. Beyond it the cost would be quadratic (one
value read by 50,000 nodes that are rewritten one by one); what that leaves out, the full sweep
finds that ends a run."""


def nodes_near(change: Change, anchors: Container[str]) -> dict[Node, None]:
    """The nodes around every edge that was made or cut, in a reproducible order.

    Only nodes whose op is in `anchors`, at which a rule can match; the others are looked across.
    """
    found: dict[Node, None] = {}
    for node in change.nodes:
        if node.alive and node.op in anchors:
            found[node] = None
        for value in node.outputs:
            if value is not None:
                _add_users(value, anchors, found)
    for value in change.lost:
        _add_ends(value, anchors, found)
    for _, value in change.forwarded:
        _add_ends(value, anchors, found)
    for value, before in change.retyped:
        if before:
            _add_ends(value, anchors, found)
    return found


def _add_ends(value: Value, anchors: Container[str], found: dict[Node, None]) -> None:
    """The producer and the users of a value that is not a constant."""
    while value.outer is not None:
        value = value.outer
    producer = value.producer
    if producer is not None:
        if producer.alive:
            if producer.op in anchors:
                found[producer] = None
            else:
                _add_producers(producer, anchors, found)
            _add_users(value, anchors, found)
    elif value.is_input and not value.constant:
        _add_users(value, anchors, found)


def _add_producers(node: Node, anchors: Container[str], found: dict[Node, None]) -> None:
    for value in node.inputs[:_FEW]:
        producer = value.producer if value is not None else None
        if producer is not None and producer.op in anchors:
            found[producer] = None


def _add_users(value: Value, anchors: Container[str], found: dict[Node, None]) -> None:
    """The users of a value, if they are few; those of no interest are replaced by their users."""
    uses = value.uses
    if len(uses) > _FEW:
        return
    for user in uses:
        if user.bodies:
            _add_users_inside(user, value, anchors, found)
        if user.op in anchors:
            found[user] = None
            continue
        for output in user.outputs:
            if output is not None and len(output.uses) <= _FEW:
                for follower in output.uses:
                    if follower.op in anchors:
                        found[follower] = None


def _add_users_inside(
    owner: Node, value: Value, anchors: Container[str], found: dict[Node, None]
) -> None:
    for body in owner.bodies:
        proxy = body.values.get(value.name)
        if proxy is not None and proxy.outer is value:
            _add_users(proxy, anchors, found)


def nodes_beside(change: Change) -> dict[Node, None]:
    """The new nodes, and the producers and users of what they read and make."""
    found: dict[Node, None] = dict.fromkeys(node for node in change.nodes if node.alive)
    values = [value for node in change.nodes for value in (*node.inputs, *node.outputs)]
    values += [new for _, new in change.forwarded]
    for value in values:
        if value is None or (value.producer is None and value.constant):
            continue
        if value.producer is not None:
            found[value.producer] = None
        if len(value.uses) <= _FEW:
            found.update(dict.fromkeys(value.uses))
    return found
