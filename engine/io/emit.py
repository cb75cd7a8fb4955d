"""Writes the edited view back into its ModelProto: only what changed is touched.

Messages are moved, never copied: `RepeatedCompositeContainer.sort` reorders pointers, so what is
unused is sorted to the end and cut off. Nodes made by rules take over the messages of removed nodes
that have the same attributes, which saves making and filling new ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from onnx import (
    ModelProto,
    NodeProto,
    StringStringEntryProto,
    TensorAnnotation,
    helper,
    numpy_helper,
)

from ..edits.dead import remove_dead_nodes
from ..graph import Graph, Model, Node, Value
from .tensors import BITS

PROVENANCE = "qrewrite.rule"
"""Key in a node's metadata_props (IR version 10 on): the rules that made it."""

_FIRST_IR_WITH_NODE_METADATA = 10
_FIRST_IR_WITH_CONSTANTS = 4

NAME = attrgetter("name")

Item_co = TypeVar("Item_co", covariant=True)


class _Repeated(Protocol[Item_co]):
    """A repeated field of messages, as far as it is needed here."""

    def __iter__(self) -> Iterator[Item_co]: ...
    def __delitem__(self, key: slice) -> None: ...
    def add(self) -> Item_co: ...
    def sort(self, *, key: Callable[[Any], int]) -> None: ...


def to_proto(model: Model) -> ModelProto:
    """The model's ModelProto, brought up to date with the view; as it came in if nothing changed.

    After a change there are no dead nodes, unused initializers or descriptions of values that are
    gone. What comes back is a ModelProto given to `read_model` itself only if nothing changed.
    """
    if not any(graph.edited for graph in model.graphs):
        return model.source.proto if model.source is not None else model.proto
    remove_dead_nodes(model)
    live = [graph for graph in model.graphs if graph.owner is None or graph.owner.alive]
    for graph in live:
        _write_nodes(graph)
        _write_constants(graph)
        _write_descriptions(graph)
        _renumber_bodies(graph)
        graph.edited = False
    model.graphs = live
    _make_node_names_unique(model)
    _import_domains(model)
    model.source = None
    return model.proto


# ---- nodes ------------------------------------------------------------------------------------


class _Pool:
    """The messages of removed nodes, to be filled again.

    One with attributes serves a node that has the very same ones, as many new nodes have those of
    a node they replace; they then stay where they are. One without serves any node.
    """

    def __init__(self, removed: Iterable[Node]) -> None:
        self._empty: list[NodeProto] = []
        self._with: dict[tuple[int, ...], list[NodeProto]] = {}
        for node in removed:
            if node.proto is None or node.bodies:
                continue
            if node.attributes:
                self._with.setdefault(_identities(node), []).append(node.proto)
            else:
                self._empty.append(node.proto)

    def take(self, node: Node, repeated: _Repeated[NodeProto]) -> NodeProto:
        """A message with the attributes of `node`, and no others."""
        same = self._with.get(_identities(node))
        if same:
            return same.pop()
        proto = self._empty.pop() if self._empty else repeated.add()
        if node.attributes:
            proto.attribute.extend(node.attributes.values())
        return proto


def _identities(node: Node) -> tuple[int, ...]:
    return tuple(map(id, node.attributes.values()))


def _write_nodes(graph: Graph) -> None:
    nodes = graph.nodes
    removed = [node for node in graph.node_list if not node.alive]
    if not removed and all(node.proto is not None and not node.changed for node in nodes):
        return
    repeated = graph.proto.node
    pool = _Pool(removed)
    provenance = _Provenance(graph.model.ir_version)
    rank: dict[int, int] = {}
    for position, node in enumerate(nodes):
        proto = node.proto
        if proto is None:
            proto = node.proto = pool.take(node, repeated)
            _fill(proto, node)
            provenance.note(proto, node.rule)
        elif node.changed:
            proto.input[:] = _names(node.inputs)
            proto.output[:] = _names(node.outputs)
        node.changed = False
        rank[id(proto)] = position
    ranks = [rank.get(id(proto), len(nodes)) for proto in repeated]
    if len(ranks) - ranks.count(len(nodes)) != len(nodes):
        raise RuntimeError("messages of the model were not found again")
    _arrange(repeated, ranks, len(nodes))
    graph.node_list = nodes


def _renumber_bodies(graph: Graph) -> None:
    """Where bodies lie: nodes have other positions now."""
    for index, node in enumerate(graph.node_list):
        for body in node.bodies:
            body.path = (*graph.path, index, *body.path[-2:])


def _arrange(repeated: _Repeated[Any], keys: Sequence[int], count: int) -> None:
    """Sort messages by keys, given in their order, and delete all behind the first `count`."""
    in_turn = iter(keys)  # list.sort asks for the key of each item once, in order
    repeated.sort(key=lambda _: next(in_turn))
    del repeated[count:]


def _fill(proto: NodeProto, node: Node) -> None:
    domain, _, op = node.op.rpartition("::")
    proto.op_type = op
    proto.domain = domain
    proto.name = node.name
    for field in ("input", "output", "doc_string", "overload", "metadata_props"):
        proto.ClearField(field)
    proto.input.extend(_names(node.inputs))
    proto.output.extend(_names(node.outputs))


def _names(values: list[Value | None]) -> list[str]:
    return [value.name if value is not None else "" for value in values]


class _Provenance:
    """Notes which rule made a node, where the IR version has a place for it."""

    def __init__(self, ir_version: int) -> None:
        self._possible = ir_version >= _FIRST_IR_WITH_NODE_METADATA
        self._entries: dict[str, StringStringEntryProto] = {}

    def note(self, proto: NodeProto, rule: str) -> None:
        if self._possible and rule:
            entry = self._entries.get(rule)
            if entry is None:
                entry = StringStringEntryProto(key=PROVENANCE, value=rule)
                self._entries[rule] = entry
            proto.metadata_props.append(entry)


def _make_node_names_unique(model: Model) -> None:
    """Of nodes that share a name, in any graph, all but the first get another."""
    seen: set[str] = set()
    for graph in model.graphs:
        for node in graph.node_list:
            name = node.name
            if name in seen and node.proto is not None:
                name = node.name = node.proto.name = model.names.fresh_node(name)
            if name:
                seen.add(name)


# ---- constants --------------------------------------------------------------------------------


def _write_constants(graph: Graph) -> None:
    """Drop unused initializers, add the constants that rules made and the graph uses."""
    unused = [
        value
        for value in graph.values.values()
        if value.producer is None and not value.uses and _is_unused_initializer(value)
    ]
    names = {value.name for value in unused}
    if names:
        proto = graph.proto
        _cut(proto.initializer, map(names.__contains__, map(NAME, proto.initializer)))
        _cut(proto.input, map(names.__contains__, map(NAME, proto.input)))
        sparse = proto.sparse_initializer
        _cut(sparse, [item.values.name in names for item in sparse])
        graph.inputs = [value for value in graph.inputs if value.name not in names]
        for name in names:
            del graph.values[name]
    for value in graph.made:
        if value.uses or value.is_output:
            _add_initializer(graph, value)
    graph.made.clear()


def _is_unused_initializer(value: Value) -> bool:
    """Of a value without producer and uses: whether it goes. One that is also a graph input stays
    from IR version 4 on: it is part of the interface."""
    if value.is_output or value.outer is not None:
        return False
    return value.constant if value.is_input else True


def _cut(repeated: _Repeated[Any], unwanted: Iterable[bool]) -> None:
    """Delete messages, given for each in its order whether it goes."""
    flags = list(unwanted)
    if any(flags):
        _arrange(repeated, flags, flags.count(False))


def _add_initializer(graph: Graph, value: Value) -> None:
    array = value.array()
    tensor = value.tensor = graph.proto.initializer.add()
    if BITS.get(value.dtype, 0) >= 8 and sys.byteorder == "little":
        tensor.name = value.name
        tensor.data_type = value.dtype
        tensor.dims.extend(array.shape)
        tensor.raw_data = array.tobytes()
    else:
        tensor.CopyFrom(numpy_helper.from_array(array, value.name))
    if graph.model.ir_version < _FIRST_IR_WITH_CONSTANTS:
        info = helper.make_tensor_value_info(value.name, value.dtype, array.shape)
        graph.proto.input.append(info)
        value.is_input = True
        graph.inputs.append(value)


# ---- descriptions -----------------------------------------------------------------------------


def _write_descriptions(graph: Graph) -> None:
    """Drop types and quantization annotations of values that are gone, correct retyped ones."""
    get = graph.values.get
    repeated = graph.proto.value_info
    described = [get(name) for name in map(NAME, repeated)]
    for info, value in zip(repeated, described, strict=True):
        if value is not None and value.dtype:
            kind = info.type
            if kind.HasField("tensor_type") and kind.tensor_type.elem_type != value.dtype:
                kind.tensor_type.elem_type = value.dtype
    _cut(repeated, [not _is_live(value) for value in described])
    annotations = graph.proto.quantization_annotation
    _cut(annotations, [not _is_annotated(graph, entry) for entry in annotations])


def _is_live(value: Value | None) -> bool:
    if value is None:
        return False
    if value.producer is not None:
        return value.producer.alive
    return bool(value.uses) or value.is_input or value.is_output


def _is_annotated(graph: Graph, entry: TensorAnnotation) -> bool:
    names = [entry.tensor_name, *(pair.value for pair in entry.quant_parameter_tensor_names)]
    return all(_is_live(graph.values.get(name)) for name in names)


# ---- domains ----------------------------------------------------------------------------------


def _import_domains(model: Model) -> None:
    """Add the imports of domains that nodes use and the model does not import yet."""
    imported = {"" if i.domain == "ai.onnx" else i.domain for i in model.proto.opset_import}
    ops = {node.op for graph in model.graphs for node in graph.node_list}
    for domain in sorted({op.rpartition("::")[0] for op in ops} - imported):
        model.proto.opset_import.add(domain=domain, version=model.opsets.get(domain, 1))
