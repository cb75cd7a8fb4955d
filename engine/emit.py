"""Writes the edited view back into its ModelProto: only what changed is touched.

Messages are moved, never copied: `RepeatedCompositeContainer.sort` reorders pointers, so what is
unused is sorted to the end and cut off. Nodes made by rules take over the messages of removed nodes
that have the same attributes, which saves making and filling new ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from onnx import (
    AttributeProto,
    ModelProto,
    NodeProto,
    StringStringEntryProto,
    TensorAnnotation,
    helper,
    numpy_helper,
)

from .dead import remove_dead_nodes
from .graph import Graph, Model, Node, Value
from .tensors import BITS

PROVENANCE = "qrewrite.rule"
"""Key in a node's metadata_props (IR version 10 on): the rules that made it."""

_FIRST_IR_WITH_NODE_METADATA = 10
_FIRST_IR_WITH_CONSTANTS = 4

Item = TypeVar("Item")
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
        graph.edited = False
    model.graphs = live
    _make_node_names_unique(model)
    _import_domains(model)
    model.source = None
    return model.proto


# ---- nodes ------------------------------------------------------------------------------------


class _Pool:
    """The messages of removed nodes, to be used again for nodes with the very same attributes."""

    def __init__(self, removed: Iterable[Node]) -> None:
        self._free: dict[tuple[int, ...], list[NodeProto]] = {}
        for node in removed:
            if node.proto is not None and not node.bodies:
                self._free.setdefault(_attribute_key(node), []).append(node.proto)

    def take(self, node: Node) -> NodeProto | None:
        free = self._free.get(_attribute_key(node))
        return free.pop() if free else None


def _attribute_key(node: Node) -> tuple[int, ...]:
    return tuple(map(id, node.attributes.values()))


def _write_nodes(graph: Graph) -> None:
    nodes = graph.nodes
    removed = [node for node in graph.node_list if not node.alive]
    if not removed and all(node.proto is not None and not node.changed for node in nodes):
        return
    repeated = graph.proto.node
    pool = _Pool(removed)
    provenance = _Provenance(graph.model.ir_version)
    rank = {id(node.proto): len(nodes) for node in removed if node.proto is not None}
    for position, node in enumerate(nodes):
        proto = node.proto
        if proto is None:
            proto = node.proto = pool.take(node) or _add(repeated, node.attributes.values())
            _fill(proto, node)
            provenance.note(proto, node.rule)
        elif node.changed:
            proto.input[:] = _names(node.inputs)
            proto.output[:] = _names(node.outputs)
        node.changed = False
        rank[id(proto)] = position
    repeated.sort(key=lambda proto: rank[id(proto)])
    del repeated[len(nodes) :]
    graph.node_list = nodes


def _add(repeated: _Repeated[NodeProto], attributes: Iterable[AttributeProto]) -> NodeProto:
    proto = repeated.add()
    proto.attribute.extend(attributes)
    return proto


def _fill(proto: NodeProto, node: Node) -> None:
    domain, _, op = node.op.rpartition("::")
    proto.op_type = op
    proto.domain = domain
    proto.name = node.name
    proto.input[:] = _names(node.inputs)
    proto.output[:] = _names(node.outputs)
    for field in ("doc_string", "overload", "metadata_props"):
        proto.ClearField(field)


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
    unused = [value for value in graph.values.values() if _is_unused_initializer(value)]
    names = {value.name for value in unused}
    if names:
        dense = {id(value.tensor) for value in unused if value.tensor is not None}
        _cut(graph.proto.initializer, lambda tensor: id(tensor) in dense, len(dense))
        _cut(graph.proto.sparse_initializer, lambda sparse: sparse.values.name in names)
        _cut(graph.proto.input, lambda info: info.name in names)
        graph.inputs = [value for value in graph.inputs if value.name not in names]
        for name in names:
            del graph.values[name]
    for value in graph.made:
        if value.uses or value.is_output:
            _add_initializer(graph, value)
    graph.made.clear()


def _is_unused_initializer(value: Value) -> bool:
    """Not one that is also a graph input from IR version 4 on: that is part of the interface."""
    if value.uses or value.is_output or value.producer is not None or value.outer is not None:
        return False
    return value.constant if value.is_input else True


def _cut(
    repeated: _Repeated[Item],
    unwanted: Callable[[Item], bool],
    count: int | None = None,
) -> None:
    """Delete the unwanted messages, of which there are `count` if that is known."""
    flags = [unwanted(item) for item in repeated]
    found = sum(flags)
    if count is not None and found != count:
        raise RuntimeError(f"{found} of {count} messages were found again")
    if found:
        in_turn = iter(flags)
        repeated.sort(key=lambda _: next(in_turn))
        del repeated[len(flags) - found :]


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
    described = [get(name) for name in map(attrgetter("name"), repeated)]
    for info, value in zip(repeated, described, strict=True):
        if value is not None and value.dtype:
            kind = info.type
            if kind.HasField("tensor_type") and kind.tensor_type.elem_type != value.dtype:
                kind.tensor_type.elem_type = value.dtype
    in_turn = iter(described)
    _cut(repeated, lambda _: not _is_live(next(in_turn)))
    _cut(graph.proto.quantization_annotation, lambda entry: not _is_annotated(graph, entry))


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
