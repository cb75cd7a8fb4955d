"""Links between nodes and values: the only code that changes `uses` and `inputs`."""

from __future__ import annotations

from ..errors import Refused
from ..graph import Graph, Node, Value


def link(value: Value, node: Node) -> None:
    """Count one more input slot of `node` that reads `value`; a proxy in use counts outside too."""
    uses = value.uses
    if value.outer is not None and not uses and not value.is_output:
        _hold(value)
    uses[node] = uses.get(node, 0) + 1


def unlink(value: Value, node: Node) -> None:
    """Take back one `link`."""
    uses = value.uses
    count = uses[node] - 1
    if count:
        uses[node] = count
    else:
        del uses[node]
        if value.outer is not None and not uses and not value.is_output:
            _let_go(value)


def _hold(proxy: Value) -> None:
    owner = proxy.graph.owner
    if owner is not None and proxy.outer is not None:
        link(proxy.outer, owner)


def _let_go(proxy: Value) -> None:
    owner = proxy.graph.owner
    if owner is not None and proxy.outer is not None:
        unlink(proxy.outer, owner)


def rewire(node: Node, inputs: list[Value | None]) -> None:
    """Give a node of the graph other inputs."""
    for value in node.inputs:
        if value is not None:
            unlink(value, node)
    node.inputs = inputs
    for value in inputs:
        if value is not None:
            link(value, node)


def capture(graph: Graph, value: Value) -> Value:
    """The proxy by which a body sees `value`, a value of a graph around it.

    Raises Refused if on the way inward a graph defines another value of that name, and ValueError
    if `value` is in no graph around the body.
    """
    levels: list[Graph] = []
    while graph is not value.graph:
        levels.append(graph)
        if graph.owner is None:
            raise ValueError(f"value {value.name!r} is not visible in {graph!r}")
        graph = graph.owner.graph
    for level in reversed(levels):
        value = _proxy(level, value)
    return value


def _proxy(graph: Graph, outer: Value) -> Value:
    found = graph.values.get(outer.name)
    if found is not None and found.outer is outer:
        return found
    if found is not None and (found.outer is None or found.uses or found.is_output):
        raise Refused(f"a body inside already has another value called {outer.name!r}")
    proxy = Value(outer.name, graph)
    proxy.outer = outer
    proxy.constant = outer.constant
    proxy.tensor = outer.tensor
    graph.values[outer.name] = proxy
    return proxy
