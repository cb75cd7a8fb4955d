"""Nodes whose results nobody reads."""

from __future__ import annotations

from ..graph import Graph, Model
from .change import Change, is_dead


def remove_dead_nodes(model: Model) -> list[Change]:
    """Take every dead node out of all graphs, bodies first: they hold values of outer graphs.

    Returns the changes, to be undone from the last to the first where that is wanted.
    """
    changes = [
        _remove_from(graph)
        for graph in reversed(model.graphs)
        if graph.owner is None or graph.owner.alive
    ]
    return [change for change in changes if change is not None]


def _remove_from(graph: Graph) -> Change | None:
    change = None
    for node in reversed(graph.nodes):  # users before producers: one pass finds all
        if is_dead(node):
            change = change or Change(graph)
            change.retire(node)
    return change
