"""Nodes whose results nobody reads."""

from __future__ import annotations

from .change import Change
from .graph import Graph, Model, Node

_KNOWN_DOMAINS = ("com.microsoft::",)
"""Beside ai.onnx. A node of any other domain may do something besides computing its outputs."""


def is_dead(node: Node) -> bool:
    """Whether a node can go: no output is used or a graph output, and it has no other effect."""
    for value in node.outputs:
        if value is not None and (value.uses or value.is_output):
            return False
    return "::" not in node.op or node.op.startswith(_KNOWN_DOMAINS)


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
