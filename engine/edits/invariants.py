"""What must hold of a graph view at any time, checked whole: for tests and the checked mode."""

from __future__ import annotations

import hashlib

from ..errors import InvariantError
from ..graph import Graph, Model, Node, Value


def fingerprint(model: Model) -> str:
    """A digest of all that an edit can change: nodes, order, links, types and constants."""
    digest = hashlib.sha256()
    for graph in model.graphs:
        if graph.owner is not None and not graph.owner.alive:
            continue
        for node in graph.nodes:
            digest.update(repr(_node_key(node)).encode())
        for value in graph.values.values():
            # A proxy that nothing uses means nothing.
            if value.outer is None or value.uses or value.is_output:
                digest.update(repr(_value_key(value)).encode())
        digest.update(repr([value.name for value in graph.outputs]).encode())
        digest.update(repr([value.name for value in graph.made]).encode())
    return digest.hexdigest()


def _node_key(node: Node) -> tuple[object, ...]:
    attributes = [item.SerializeToString(deterministic=True) for item in node.attributes.values()]
    return (
        node.op,
        node.name,
        node.order,
        node.rule,
        node.changed,
        [value.name if value is not None else None for value in node.inputs],
        [value.name if value is not None else None for value in node.outputs],
        attributes,
    )


def _value_key(value: Value) -> tuple[object, ...]:
    users = sorted((node.order, node.name, count) for node, count in value.uses.items())
    producer = value.producer
    made_by = producer.order if producer is not None and producer.alive else None
    return (value.name, made_by, users, value.is_input, value.is_output, value.constant)


def check_invariants(model: Model) -> None:
    """Raise InvariantError, naming the place, if the view is not consistent."""
    for graph in model.graphs:
        if graph.owner is None or graph.owner.alive:
            _check_graph(graph)


def _check_graph(graph: Graph) -> None:
    counted: dict[Value, dict[Node, int]] = {}
    nodes = graph.nodes
    for node in nodes:
        _check_node(node, graph)
        for value in node.inputs:
            if value is not None:
                uses = counted.setdefault(value, {})
                uses[node] = uses.get(node, 0) + 1
        for body in node.bodies:
            for proxy in body.values.values():
                if proxy.outer is not None and (proxy.uses or proxy.is_output):
                    uses = counted.setdefault(proxy.outer, {})
                    uses[node] = uses.get(node, 0) + 1
    for name, value in graph.values.items():
        _require(value.name == name, f"value {name!r} is called {value.name!r}")
        _require(value.uses == counted.pop(value, {}), f"the uses of {name!r} are wrong")
    _require(not counted, f"{next(iter(counted), None)!r} is used but not part of the graph")
    _require(len({node.order for node in nodes}) == len(nodes), "two nodes have one position")
    for value in graph.outputs:
        _require(value.is_output, f"graph output {value.name!r} is not marked as one")
        _require(graph.values.get(value.name) is value, f"graph output {value.name!r} is lost")
        _check_defined(value, graph)


def _check_node(node: Node, graph: Graph) -> None:
    _require(node.graph is graph, f"{node!r} belongs to another graph")
    for value in node.inputs:
        if value is not None:
            _require(value.graph is graph, f"{node!r} reads {value!r} of another graph")
            _check_defined(value, graph)
            producer = value.producer
            if producer is not None:
                _require(producer.order < node.order, f"{node!r} stands before {producer!r}")
    for value in node.outputs:
        if value is not None:
            _require(value.producer is node, f"{value!r} is not produced by {node!r}")
            _require(graph.values.get(value.name) is value, f"{value!r} is not part of the graph")
    for body in node.bodies:
        for proxy in body.values.values():
            outer = proxy.outer
            if outer is not None and (proxy.uses or proxy.is_output):
                _check_defined(outer, graph)
                if outer.producer is not None:
                    _require(outer.producer.order < node.order, f"{node!r} captures {outer!r}")


def _check_defined(value: Value, graph: Graph) -> None:
    if value.producer is not None:
        _require(value.producer.alive, f"{value!r} is used, but its producer is removed")
        _require(value in value.producer.outputs, f"{value!r} is no output of its producer")
    else:
        defined = (
            value.is_input
            or value.outer is not None
            or value.tensor is not None
            or value.constant
            or any(value.name == item.values.name for item in graph.proto.sparse_initializer)
        )
        _require(defined, f"nothing defines {value!r}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise InvariantError(message)
