"""Positions of nodes: labels that leave room, so that an edit never renumbers the graph.

A label is a tuple of integers, compared lexicographically; the model's nodes have `(index,)`.
A label that extends `p` comes after `p` and before all that come after `p`:
`p + (0, k)` for nodes that take the place of a removed node at `p`, `p + (LAST - serial, k)`
for nodes put behind a node that stays. Of the latter the newest comes first, right behind `p`,
and all come behind whatever later takes the place of `p`.
"""

from __future__ import annotations

import heapq

from ..errors import ModelError
from ..graph import Graph, Node

LAST = 1 << 40
"""More than the number of edits that any run makes."""


def labels_instead(order: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Labels of `count` nodes in the place of a removed node; a single one keeps its label."""
    return [order] if count == 1 else [(*order, 0, k) for k in range(count)]


def labels_behind(order: tuple[int, ...], count: int, serial: int) -> list[tuple[int, ...]]:
    """Labels of `count` nodes right behind the one at `order`; `serial` grows with each call."""
    return [(*order, LAST - serial, k) for k in range(count)]


def sort_graph(graph: Graph) -> None:
    """Renumber the nodes of a graph just read that is not topologically sorted, keeping the order
    of the file where dependencies leave a choice. ModelError, naming a node, if there is a
    cycle."""
    nodes = graph.node_list
    blockers = dict.fromkeys(nodes, 0)
    for node in nodes:
        for value in node.outputs:
            for user in value.uses if value is not None else ():
                blockers[user] += 1
    ready = [node.order for node in nodes if not blockers[node]]
    at = {node.order: node for node in nodes}
    done: list[Node] = []
    while ready:
        node = at[heapq.heappop(ready)]
        done.append(node)
        for value in node.outputs:
            for user in value.uses if value is not None else ():
                blockers[user] -= 1
                if not blockers[user]:
                    heapq.heappush(ready, user.order)
    if len(done) < len(nodes):
        stuck = next(node for node in nodes if blockers[node])
        raise ModelError(f"node {stuck.name!r} ({stuck.op}) is part of a cycle or behind one")
    for position, node in enumerate(done):
        node.order = (position,)
    graph.node_list = done
