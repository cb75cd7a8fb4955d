"""A committed edit, with what is needed to take it back."""

from __future__ import annotations

from ..graph import Graph, Node, Value
from .links import link, rewire, unlink

_WITHOUT_EFFECTS = "com.microsoft::"
"""Beside ai.onnx: a node of another domain may do something besides computing its outputs."""


class Change:
    """What one commit did to the graph. Taken back whole by `undo`, the latest change first."""

    __slots__ = (
        "_attached",
        "_bodies",
        "_edited",
        "_names",
        "_outputs",
        "_producers",
        "_swept",
        "forwarded",
        "graph",
        "lost",
        "nodes",
        "removed",
        "retyped",
        "rewired",
    )

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        """New nodes."""
        self.removed: list[Node] = []
        """The replaced nodes, then those that became dead, in any graph."""
        self.lost: list[Value] = []
        """Values that lost a use and are no constants."""
        self.forwarded: list[tuple[Value, Value]] = []
        """(from, to) of uses that moved to another value."""
        self.retyped: list[tuple[Value, int]] = []
        """Values whose element type changed or became known, with the type before."""
        self.rewired: list[tuple[Node, list[Value | None], bool]] = []
        """Nodes that read other values now, with their inputs and `changed` before."""
        self._swept = 0
        self._bodies: list[Node] = []
        self._outputs: list[tuple[Node, list[Value | None], bool]] = []
        self._producers: list[tuple[Value, Node | None]] = []
        self._attached: list[tuple[Value, str]] = []
        self._edited: list[tuple[Graph, bool]] = []
        self._names = graph.model.names.mark()
        self.touch(graph)

    def touch(self, graph: Graph) -> None:
        """Note that a graph is changed."""
        self._edited.append((graph, graph.edited))
        graph.edited = True

    def attach(self, value: Value, hint: str) -> None:
        """Name a value made by a rule and make it part of its graph."""
        graph = value.graph
        value.name = graph.model.names.fresh_value(hint)
        graph.values[value.name] = value
        if value.constant:
            graph.made.append(value)
        self._attached.append((value, hint))

    def attach_constant(self, constant: Value) -> None:
        """The same for a constant made by a rule, if it has not been used before."""
        if constant.outer is None and constant.graph.values.get(constant.name) is not constant:
            self.attach(constant, constant.name)

    def insert(self, node: Node) -> None:
        """Make a new node part of its graph; its operands and outputs are known to fit."""
        node.alive = True
        node.graph.node_list.append(node)
        self.nodes.append(node)
        for value in node.inputs:
            if value is None:
                continue
            # As link() does it, without the call in the common case.
            if value.outer is None:
                value.uses[node] = value.uses.get(node, 0) + 1
            else:
                link(value, node)
        for value in node.outputs:
            if value is not None:
                self._producers.append((value, value.producer))
                value.producer = node

    def take_output(self, node: Node, old: Value, new: Value) -> None:
        """Make a node that produces `old` produce `new` in its place."""
        self._outputs.append((node, node.outputs, node.changed))
        self._producers += ((old, old.producer), (new, new.producer))
        node.outputs = [new if value is old else value for value in node.outputs]
        node.changed = True
        old.producer = None
        new.producer = node

    def retype(self, value: Value, dtype: int) -> None:
        """Set the element type of a value."""
        self.retyped.append((value, value.dtype))
        value.dtype = dtype

    def rewire(self, node: Node, inputs: list[Value | None]) -> None:
        """Give a node of the graph other inputs."""
        self.rewired.append((node, node.inputs, node.changed))
        rewire(node, inputs)
        node.changed = True

    def retire(self, node: Node) -> None:
        """Take a node out of the graph, with everything in its bodies."""
        node.alive = False
        self.removed.append(node)
        for value in node.inputs:
            if value is None:
                continue
            # As unlink() does it, without the call in the common case.
            if value.outer is None and value.uses[node] == 1:
                del value.uses[node]
            else:
                unlink(value, node)
            if not value.constant:
                self.lost.append(value)
        if node.bodies:
            for outer in _captures(node):
                unlink(outer, node)
                self.lost.append(outer)
            self._retire_bodies(node)

    def _retire_bodies(self, node: Node) -> None:
        waiting = list(node.bodies)
        while waiting:
            for inner in waiting.pop().node_list:
                if inner.alive:
                    inner.alive = False
                    self._bodies.append(inner)
                    waiting.extend(inner.bodies)

    def sweep(self) -> None:
        """Remove the nodes that nothing uses any more, now that some values have lost uses."""
        self._swept = len(self.removed)
        # retire() appends to the list that is being walked: operands of dead nodes are looked at
        # too.
        for value in self.lost:
            while value.outer is not None and not value.uses:
                value = value.outer
            if value.uses:
                continue
            node = value.producer
            if node is not None and node.alive and is_dead(node):
                self.retire(node)

    def undo(self) -> None:
        """Restore the graph as it was before. Changes made since must be undone first."""
        removed = self.removed
        for node in reversed(removed[self._swept :]):
            _restore(node)
        for node, inputs, changed in reversed(self.rewired):
            rewire(node, inputs)
            node.changed = changed
        for node in reversed(self.nodes):
            _withdraw(node)
        for node, outputs, changed in reversed(self._outputs):
            node.outputs = outputs
            node.changed = changed
        for value, producer in reversed(self._producers):
            value.producer = producer
        for node in reversed(removed[: self._swept]):
            _restore(node)
        for node in self._bodies:
            node.alive = True
        for value, dtype in reversed(self.retyped):
            value.dtype = dtype
        for value, _ in reversed(self._attached):
            del value.graph.values[value.name]
            if value.constant:
                value.graph.made.pop()
        for value, hint in self._attached:
            value.name = hint if value.constant else ""
        for graph, edited in reversed(self._edited):
            graph.edited = edited
        self.graph.model.names.release(self._names)


def is_dead(node: Node) -> bool:
    """Whether a node can go: no output is used or a graph output, and it has no other effect."""
    for value in node.outputs:
        if value is not None and (value.uses or value.is_output):
            return False
    return "::" not in node.op or node.op.startswith(_WITHOUT_EFFECTS)


def _captures(owner: Node) -> list[Value]:
    """The outer values that the bodies of a node capture, one entry for each capturing body."""
    return [
        proxy.outer
        for body in owner.bodies
        for proxy in body.values.values()
        if proxy.outer is not None and (proxy.uses or proxy.is_output)
    ]


def _restore(node: Node) -> None:
    node.alive = True
    for value in node.inputs:
        if value is not None:
            link(value, node)
    for outer in _captures(node):
        link(outer, node)


def _withdraw(node: Node) -> None:
    node.alive = False
    for value in node.inputs:
        if value is not None:
            unlink(value, node)
    node.graph.node_list.pop()
