"""Nodes whose results nobody reads."""

from __future__ import annotations

from .graph import Graph, Model, Node
from .links import unlink

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
            for node in reversed(graph.nodes):
                if is_dead(node):
                    release(node)
                    graph.edited = True


def release(node: Node) -> None:
    """Take a node out: it reads nothing any more, nor do the bodies inside it."""
    node.alive = False
    for value in node.inputs:
        if value is not None:
            unlink(value, node)
    for body in node.bodies:
        _release_body(body)


def _release_body(body: Graph) -> None:
    for inner in body.node_list:
        if inner.alive:
            release(inner)
    for output in dict.fromkeys(body.outputs):
        if output.outer is not None and body.owner is not None:
            unlink(output.outer, body.owner)
            output.is_output = False
