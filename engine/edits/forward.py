"""Forwarding: the uses of a value go to another value that stands for it."""

from __future__ import annotations

from ..errors import Refused
from ..graph import Graph, Node, Value
from .change import Change
from .links import capture

Pairs = list[tuple[Value, Value]]
"""(old value, the value that stands for it)."""


def plan_outputs(graph: Graph, forward: Pairs) -> tuple[Pairs, list[Node]]:
    """How the graph outputs among the old values go on being made, as their names never change.

    Where a node of the graph makes the new value, it makes the old one in its place: those pairs
    are returned. Else an Identity node stands between: those nodes are returned too. Refused if
    there is such an Identity already and nothing else uses the output: the rewrite would change
    nothing.
    """
    taken: dict[Value, Value] = {}
    identities: list[Node] = []
    for old, new in forward:
        if not old.is_output:
            continue
        if new not in taken and _can_give_way(new, graph):
            taken[new] = old
            continue
        if not old.uses and _is_identity(old.producer, new):
            raise Refused(f"{old.name!r} is a graph output and needs the node that makes it")
        identities.append(graph.new_node("Identity", [new], [old]))
    return [(old, new) for new, old in taken.items()], identities


def _is_identity(node: Node | None, operand: Value) -> bool:
    return node is not None and node.op == "Identity" and node.inputs[0] is operand


def _can_give_way(value: Value, graph: Graph) -> bool:
    """Whether a value may be replaced by a graph output: it is a node's, and no output itself."""
    return value.producer is not None and value.graph is graph and not value.is_output


def take_outputs(pairs: Pairs, change: Change) -> None:
    """Make the producer of each new value produce the old one, a graph output, instead."""
    for old, new in pairs:
        producer = new.producer
        if producer is None or not producer.alive:
            raise Refused(f"{new.name!r} is removed by the rewrite itself")
        for user in old.uses:
            _check_follows(user, producer)
        change.take_output(producer, old=new, new=old)
        move_uses(new, old, change)


def move_uses(old: Value, new: Value, change: Change) -> None:
    """Make all users of `old` read `new`, in bodies that capture it too.

    Raises Refused if a user stands before the producer of `new`, or a body cannot see `new`.
    """
    if new.constant and new.tensor is None:
        change.attach_constant(new)
    change.forwarded.append((old, new))
    change.lost.append(old)
    producer = new.producer
    for user in list(old.uses):
        if producer is not None:
            _check_follows(user, producer)
        if old in user.inputs:
            change.rewire(user, [new if value is old else value for value in user.inputs])
        for body in user.bodies:
            proxy = body.values.get(old.name)
            if proxy is not None and proxy.outer is old and (proxy.uses or proxy.is_output):
                _move_captured(body, proxy, new, change)


def _check_follows(user: Node, producer: Node) -> None:
    if user.order <= producer.order:
        raise Refused(f"node {user.name!r} ({user.op}) would stand before its operand")


def _move_captured(body: Graph, proxy: Value, new: Value, change: Change) -> None:
    if proxy.is_output:
        raise Refused(f"{proxy.name!r} is captured as the output of a body")
    change.touch(body)
    move_uses(proxy, capture(body, new), change)
