"""Nodes whose results nobody reads."""

from __future__ import annotations

from .change import Change, is_dead
from .graph import Graph, Model


def remove_dead_nodes(model: Model) -> None:
    """Take every dead node out of all graphs, bodies first: they hold values of outer graphs."""
    for graph in reversed(model.graphs):
        if graph.owner is None or graph.owner.alive:
            _remove_from(graph)


def _remove_from(graph: Graph) -> None:
    change = None
    for node in reversed(graph.nodes):  # users before producers: one pass finds all
        if is_dead(node):
            change = change or Change(graph)
            change.retire(node)
