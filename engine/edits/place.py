"""Positions for new nodes: behind their operands, before the users of what they make."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Refused
from ..graph import Model, Node, Value
from .order import labels_behind, labels_instead

Label = tuple[int, ...]


def place(nodes: list[Node], roots: list[Node], model: Model) -> None:
    """Label new nodes, which come in topological order and are not linked yet.

    `roots` are the removed nodes whose outputs the new ones stand for. Each new node that makes
    an old value goes to the place of the node that made it, with the new nodes listed before it
    that make none; or, if an operand stands behind that place, right behind the operand. Raises
    Refused if a user of an old value stands before that.
    """
    if not nodes:
        return
    if len(nodes) == 1 and len(roots) == 1 and _latest_operand(nodes, {}) < roots[0].order:
        nodes[0].order = roots[0].order
        return
    parts = list(_parts(nodes, roots))
    sizes: dict[Label, int] = {}
    for part, own_roots in parts:
        first = _first(own_roots)
        sizes[first] = sizes.get(first, 0) + len(part)
    free = {first: iter(labels_instead(first, size)) for first, size in sizes.items()}
    made: dict[Value, Node] = {}
    for part, own_roots in parts:
        latest = _latest_operand(part, made)
        first = _first(own_roots)
        labels: Iterator[Label]
        if latest < first:
            labels = free[first]
        else:
            model.serial += 1
            behind = labels_behind(latest, len(part), model.serial)
            _check_users_follow(own_roots, behind[-1])
            labels = iter(behind)
        for node in part:
            node.order = next(labels)
            made.update((value, node) for value in node.outputs if value is not None)


def _parts(nodes: list[Node], roots: list[Node]) -> Iterator[tuple[list[Node], list[Node]]]:
    """Runs of new nodes up to one that makes old values, with the old producers of these."""
    part: list[Node] = []
    for node in nodes:
        part.append(node)
        own_roots = [
            value.producer
            for value in node.outputs
            if value is not None and value.producer is not None
        ]
        if own_roots:
            yield part, own_roots
            part = []
    if part:
        yield part, roots


def _first(roots: list[Node]) -> Label:
    return min(root.order for root in roots)


def _latest_operand(nodes: list[Node], made: dict[Value, Node]) -> Label:
    """The position of the last producer of an operand; () if there is none.

    `made` tells the producers among the new nodes of earlier parts. Inside a part the list is in
    topological order, and removed nodes do not count.
    """
    latest: Label = ()
    for node in nodes:
        for value in node.inputs:
            if value is None:
                continue
            producer = value.producer
            if producer is not None and producer.alive:
                latest = max(latest, producer.order)
            elif value in made:
                latest = max(latest, made[value].order)
    return latest


def _check_users_follow(roots: list[Node], last: Label) -> None:
    for root in roots:
        for value in root.outputs:
            for user in value.uses if value is not None else ():
                if user.order <= last:
                    raise Refused(f"node {user.name!r} ({user.op}) would stand before its operand")
