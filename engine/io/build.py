"""From a ModelProto to the indexed view: each node is read once, each tensor not at all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import onnx
from onnx import AttributeProto, GraphProto, ModelProto

from ..edits.links import capture, link
from ..edits.order import sort_graph
from ..errors import ModelError
from ..graph import Graph, Model, Node, Value, describe, trimmed
from ..schemas.known import Schema, Schemas

_BODIES = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
_OPS_WITH_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})


def build(proto: ModelProto, base_dir: str = "", declared: Iterable[Schema] = ()) -> Model:
    """The view of a model; `proto` is kept and must not be changed while the view is in use.

    `base_dir` is the folder that external data is relative to, `declared` the schemas of custom
    ops. Time is linear in nodes and initializers. Bodies of local functions are not part of it.
    Raises ModelError, naming node and value, if a value is read but not defined, is defined twice,
    or takes part in a cycle.
    """
    model = Model(proto, base_dir, _opsets(proto), Schemas(declared))
    waiting: deque[Graph] = deque([model.graph])
    unsorted: list[Graph] = []
    while waiting:
        graph = waiting.popleft()
        reader = _Reader(graph)
        reader.read()
        waiting.extend(reader.bodies)
        model.graphs.extend(reader.bodies)
        if not reader.sorted:
            unsorted.append(graph)
        unsorted.extend(reader.late_captures)
    for graph in dict.fromkeys(unsorted):
        sort_graph(graph)
    return model


def _opsets(proto: ModelProto) -> dict[str, int]:
    versions: dict[str, int] = {}
    if proto.ir_version < 3:
        # Models from before there were imports use version 1.
        versions[""] = 1
    for entry in proto.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        version = int(entry.version)
        if versions.setdefault(domain, version) != version:
            raise ModelError(
                f"the model imports domain {domain or 'ai.onnx'} at two versions, "
                f"{versions[domain]} and {version}"
            )
    return versions


class _Reader:
    """Reads one graph; the graphs around it have been read before."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.proto: GraphProto = graph.proto
        self.bodies: list[Graph] = []
        self.sorted = True
        self.late_captures: list[Graph] = []
        """Graphs around this one in which an owner captures what is defined after it."""
        self._ahead: dict[str, tuple[Value, Node]] = {}
        """Values read before their definition, each with the first node that reads it."""

    def read(self) -> None:
        self._read_initializers()
        self._read_inputs()
        self._read_nodes()
        if self._ahead:
            self._settle_values_read_ahead()
        self._read_outputs()

    def _read_initializers(self) -> None:
        graph, values = self.graph, self.graph.values
        for tensor in self.proto.initializer:
            name = tensor.name
            value = Value(name, graph)
            value.constant = True
            value.tensor = tensor
            if values.setdefault(name, value) is not value:
                raise ModelError(f"initializer {name!r} is defined twice")
        for sparse in self.proto.sparse_initializer:
            name = sparse.values.name
            value = Value(name, graph)
            value.dtype = sparse.values.data_type
            if values.setdefault(name, value) is not value:
                raise ModelError(f"initializer {name!r} is defined twice")

    def _read_inputs(self) -> None:
        graph, values = self.graph, self.graph.values
        overridable = graph.model.ir_version >= 4
        for info in self.proto.input:
            value = values.get(info.name)
            if value is None:
                value = values[info.name] = Value(info.name, graph)
                value.dtype = info.type.tensor_type.elem_type
            elif value.is_input:
                raise ModelError(f"graph input {info.name!r} is listed twice")
            elif overridable:
                value.constant = False
            value.is_input = True
            graph.inputs.append(value)

    def _read_nodes(self) -> None:
        graph, values, node_list = self.graph, self.graph.values, self.graph.node_list
        find, define = values.get, values.setdefault
        is_body = graph.owner is not None
        kinds: dict[str, tuple[str, bool]] = {}
        none: dict[str, AttributeProto] = {}
        inputs: list[Any]
        outputs: list[Any]
        for index, proto in enumerate(self.proto.node):
            op, domain = proto.op_type, proto.domain
            kind = kinds.get(op) if not domain else None
            if kind is None:
                kind = self._kind(op, domain, kinds)
            # The lists of names become, in place, the lists of values.
            inputs, outputs = proto.input[:], proto.output[:]
            stored = proto.attribute
            attributes = {item.name: item for item in stored} if stored else none
            node = Node(kind[0], proto.name, inputs, outputs, attributes, graph, proto, (index,))
            for slot, name in enumerate(inputs):
                value = find(name) or self._find(name, node)
                inputs[slot] = value
                if is_body and value is not None:
                    link(value, node)
                elif value is not None:
                    uses = value.uses
                    uses[node] = uses.get(node, 0) + 1
            for slot, name in enumerate(outputs):
                value = Value(name, graph, node)
                if not name or define(name, value) is not value:
                    value = self._define_known(name, node)
                outputs[slot] = value
            if kind[1]:
                self._read_bodies(node, index)
            node_list.append(node)
            if (inputs and inputs[-1] is None) or (outputs and outputs[-1] is None):
                node.inputs, node.outputs = trimmed(inputs), trimmed(outputs)

    def _kind(self, op: str, domain: str, kinds: dict[str, tuple[str, bool]]) -> tuple[str, bool]:
        """The op as in `Node.op`, one string object for all its nodes so that comparisons are by
        identity, and whether its attributes may hold bodies. ONNX says so for its own ops."""
        if domain and domain != "ai.onnx":
            op = f"{domain}::{op}"
        if op not in kinds:
            may_have_bodies = op in _OPS_WITH_BODIES or not onnx.defs.has(op)
            kinds[op] = (op, may_have_bodies)
        return kinds[op]

    def _find(self, name: str, node: Node) -> Value | None:
        """A value that this graph has not defined so far: of a graph around it, or yet to come;
        None where the input is absent."""
        if not name:
            return None
        captured = self._find_outside(name)
        if captured is not None:
            return captured
        value = self.graph.values[name] = Value(name, self.graph)
        self._ahead[name] = (value, node)
        return value

    def _capture(self, outer: Value, owner: Node) -> Value:
        producer = outer.producer
        if producer is not None and producer.order >= owner.order:
            self.late_captures.append(outer.graph)
        return capture(self.graph, outer)

    def _define_known(self, name: str, node: Node) -> Value | None:
        """An output whose name is known already: right only if it was read ahead of its definition,
        or if it is empty."""
        if not name:
            return None
        waiting = self._ahead.pop(name, None)
        if waiting is None:
            raise ModelError(f"{_describe(node)} defines value {name!r}, which is already defined")
        self.sorted = False
        value = waiting[0]
        value.producer = node
        return value

    def _settle_values_read_ahead(self) -> None:
        name, (_, node) = next(iter(self._ahead.items()))
        raise ModelError(f"{_describe(node)} reads value {name!r}, which nothing defines")

    def _read_bodies(self, node: Node, index: int) -> None:
        for name, attribute in node.attributes.items():
            if attribute.type not in _BODIES:
                continue
            protos = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
            for position, body in enumerate(protos):
                path = (*self.graph.path, index, name, position)
                graph = Graph(body, self.graph.model, node, path)
                node.bodies += (graph,)
                self.bodies.append(graph)

    def _read_outputs(self) -> None:
        graph = self.graph
        for info in self.proto.output:
            value = graph.values.get(info.name)
            if value is None:
                value = self._find_output(info.name)
            if value.outer is not None and not value.uses and not value.is_output:
                owner = graph.owner
                assert owner is not None
                link(value.outer, owner)
            value.is_output = True
            graph.outputs.append(value)

    def _find_outside(self, name: str) -> Value | None:
        """A value of a graph around this one, captured."""
        owner = self.graph.owner
        while owner is not None:
            outer = owner.graph.values.get(name)
            if outer is not None and outer.outer is None:
                return self._capture(outer, owner)
            owner = owner.graph.owner
        return None

    def _find_output(self, name: str) -> Value:
        captured = self._find_outside(name)
        if captured is not None:
            return captured
        where = f" of a body of {_describe(self.graph.owner)}" if self.graph.owner else ""
        raise ModelError(f"graph output {name!r}{where} is a value that nothing defines")


def _describe(node: Node) -> str:
    proto = node.proto
    first = next((output for output in proto.output if output), "") if proto is not None else ""
    return describe(node.op, node.name, first)
