"""From a settled graph to a model: the core of the pattern, and what stands around it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from .case import Case
from .draws import Draw, chance, pick
from .op_shapes import ELEMENTWISE
from .protos import ir_version, make_node, tensor, value_info
from .solve import Solved
from .structure import PatternNode, Slot
from .world import NUMPY, World, is_quantizer

OTHER_SCALE = 0.0371
FOUR_BITS = ("u4", "i4", "u2", "i2")


@dataclass
class _Parts:
    """The pieces of a graph."""

    nodes: list[NodeProto] = field(default_factory=list)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    outputs: list[ValueInfoProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    opaque: bool = False
    """The model uses com.microsoft."""


def build_case(solved: Solved, draw: Draw, embed: bool = True, keep_outputs: bool = True) -> Case:
    """The model of a settled graph; `embed`: now and then inside a larger graph.

    Without `keep_outputs` the results of the pattern are seldom graph outputs.
    """
    world = solved.world
    parts = _core(world)
    _before(world, parts, draw, embed and chance(draw, 30))
    _after(world, parts, draw, embed, keep_outputs)
    if embed:
        _share(world, parts, draw)
    model = _model(world, parts)
    pinned = {name_of(slot): world.contents[slot] for slot in world.pinned}
    if embed and not world.structure.fed and chance(draw, 8):
        model = in_branch(model)
        pinned["if_condition"] = np.asarray(chance(draw, 50))
    return Case(
        model,
        tuple(name_of(slot) for slot in world.structure.roots),
        pinned,
        dict(world.options),
        tuple(solved.choices),
        solved.broken,
        draw.integer(0, 50),
        len(world.structure.nodes),
        all(is_quantizer(n.op) or n.op in ELEMENTWISE for n in world.structure.nodes),
    )


def name_of(slot: Slot) -> str:
    return slot.replace("#", "").replace(".", "_")


def _core(world: World) -> _Parts:
    parts = _Parts()
    structure = world.structure
    for index, node in enumerate(structure.nodes):
        proto = make_node(world, node, name_of)
        proto.name = f"{node.op.rpartition('::')[2]}_{index}"
        parts.nodes.append(proto)
    for slot, array in world.contents.items():
        if slot not in world.pinned:
            parts.initializers.append(tensor(array, name_of(slot)))
    for slot in sorted(world.inputs | world.pinned | world.overridable):
        info = value_info(name_of(slot), world.dtypes[slot], world.shapes[slot])
        parts.inputs.append(info)
    return parts


# ---- surroundings -----------------------------------------------------------------------------


def _quantizer(parts: _Parts, op: str, source: str, result: str, dtype: str) -> None:
    """A Q or DQ on a grid of its own."""
    names = [f"{result}_outer_scale", f"{result}_outer_zero"]
    zero = 3 if dtype[0] == "i" or dtype in FOUR_BITS else 130
    parts.initializers.append(tensor(np.asarray(OTHER_SCALE, np.float32), names[0]))
    parts.initializers.append(tensor(np.asarray(zero).astype(NUMPY[dtype]), names[1]))
    parts.nodes.append(helper.make_node(op, [source, *names], [result], name=f"{op}_{result}"))


def _before(world: World, parts: _Parts, draw: Draw, further: bool) -> None:
    """Values that nodes outside of the pattern compute; `further`: a graph input becomes one."""
    computed = sorted(world.computed)
    free = sorted(world.inputs - world.structure.fed)
    eight = [slot for slot in free if world.dtypes[slot] in ("u8", "i8")]
    if further and eight:
        computed.append(pick(draw, eight))
    core, parts.nodes = parts.nodes, []
    for index, slot in enumerate(computed):
        _compute(world, parts, slot, f"outer{index}", chance(draw, 50))
    parts.nodes += core


def _compute(world: World, parts: _Parts, slot: Slot, source: str, short: bool) -> None:
    """One value: by Softsign of a float, by Q of one, or by DQ, Softsign and Q of codes."""
    name, dtype, shape = name_of(slot), world.dtypes[slot], world.shapes[slot]
    parts.inputs = [info for info in parts.inputs if info.name != name]
    if dtype == "f32":
        parts.inputs.append(value_info(source, "f32", shape))
        parts.nodes.append(helper.make_node("Softsign", [source], [name], name=f"{source}_node"))
    elif short or dtype not in ("u8", "i8"):
        parts.inputs.append(value_info(source, "f32", shape))
        _quantizer(parts, "QuantizeLinear", source, name, dtype)
    else:
        parts.inputs.append(value_info(source, dtype, shape))
        real, soft = f"{source}_real", f"{source}_soft"
        _quantizer(parts, "DequantizeLinear", source, real, dtype)
        parts.nodes.append(helper.make_node("Softsign", [real], [soft], name=f"{source}_node"))
        _quantizer(parts, "QuantizeLinear", soft, name, dtype)


def _after(world: World, parts: _Parts, draw: Draw, embed: bool, keep_outputs: bool) -> None:
    """The roots become graph outputs, or are used by a further node, or both."""
    structure = world.structure
    for slot in structure.roots:
        narrow = world.dtypes[slot] in FOUR_BITS  # onnxruntime's Python side has no arrays of them
        inner = any(not c.borrowed for c in structure.consumers(slot))
        kept_in = narrow or slot in structure.hidden
        wanted = kept_in or not keep_outputs or (embed and chance(draw, 25))
        used = wanted and slot not in structure.lone and not (kept_in and inner)
        if used or slot in structure.shared:
            _use(world, parts, slot)
        visible = chance(draw, 5 if not keep_outputs else 50) if used or inner else True
        if slot in structure.shown or (visible and not kept_in):
            _output(world, parts, slot)
    for slot in sorted((structure.shown | structure.shared) - {*structure.roots}):
        if slot in structure.shared:
            _use(world, parts, slot)
        else:
            _output(world, parts, slot)
    _loose_ends(world, parts)


def _output(world: World, parts: _Parts, slot: Slot) -> None:
    parts.outputs.append(value_info(name_of(slot), world.dtypes[slot], world.shapes[slot]))


def _use(world: World, parts: _Parts, slot: Slot) -> None:
    """A node that reads a root, with a graph output behind it."""
    name, dtype, shape = name_of(slot), world.dtypes[slot], world.shapes[slot]
    result = f"{name}_after"
    coded = dtype in ("u8", "i8") or (dtype in (*FOUR_BITS, "u16", "i16") and world.opset >= 21)
    if coded and world.structure.unused.get(slot) != "DequantizeLinear":
        _quantizer(parts, "DequantizeLinear", name, result, dtype)
    elif dtype == "f32":
        parts.nodes.append(helper.make_node("Softsign", [name], [result], name=f"{name}_use"))
    elif dtype == "f16":  # no Cast: onnxruntime would drop the rounding to float16 before it
        flat = helper.make_node("Flatten", [name], [result], name=f"{name}_use", axis=0)
        parts.nodes.append(flat)
        parts.outputs.append(value_info(result, "f16", (1, math.prod(shape))))
        return
    else:
        cast = helper.make_node("Cast", [name], [result], name=f"{name}_use", to=TensorProto.FLOAT)
        parts.nodes.append(cast)
    parts.outputs.append(value_info(result, "f32", shape))


def _loose_ends(world: World, parts: _Parts) -> None:
    """Values that nothing uses become graph outputs: those of consumers that the pattern names."""
    used = {name for node in parts.nodes for name in node.input}
    known = {info.name for info in parts.outputs}
    for node in world.structure.nodes:
        if any(any(world.structure.consumers(slot)) for slot in node.outputs):
            continue
        for slot in node.outputs:
            name = name_of(slot)
            if name not in used and name not in known and world.dtypes[slot] not in FOUR_BITS:
                _output(world, parts, slot)


def _share(world: World, parts: _Parts, draw: Draw) -> None:
    """A DequantizeLinear has another consumer, or is a graph output as well."""
    kept = world.structure.lone | world.structure.hidden
    borrowed = [
        n
        for n in world.structure.nodes
        if n.borrowed and world.dtypes[n.outputs[0]] == "f32" and n.outputs[0] not in kept
    ]
    if not borrowed or not chance(draw, 20):
        return
    slot = pick(draw, borrowed).outputs[0]
    name, shape = name_of(slot), world.shapes[slot]
    if any(info.name == name for info in parts.outputs):
        return
    if chance(draw, 50):
        parts.outputs.append(value_info(name, "f32", shape))
        return
    parts.nodes.append(helper.make_node("Softsign", [name], ["other_use"], name="other_use"))
    parts.outputs.append(value_info("other_use", "f32", shape))


def expose(case: Case, interior: ValueInfoProto) -> ModelProto:
    """The model with a value that the pattern owns among its outputs."""
    model = ModelProto()
    model.CopyFrom(case.model)
    model.graph.output.append(interior)
    return model


# ---- models -----------------------------------------------------------------------------------


def _model(world: World, parts: _Parts) -> ModelProto:
    graph = helper.make_graph(
        parts.nodes, "graph", parts.inputs, parts.outputs, initializer=parts.initializers
    )
    imports = [helper.make_opsetid("", world.opset)]
    if any(node.domain == "com.microsoft" for node in parts.nodes):
        imports.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version(world.opset))


def in_branch(model: ModelProto) -> ModelProto:
    """The model with all nodes in the branches of an `If`, which capture inputs and constants."""
    produced = {name for node in model.graph.node for name in node.output}
    if not model.graph.node or any(info.name not in produced for info in model.graph.output):
        return model
    then = helper.make_graph(list(model.graph.node), "then", [], list(model.graph.output))
    other = helper.make_graph(
        [_renamed(node, produced) for node in model.graph.node],
        "else",
        [],
        [_renamed_info(info) for info in model.graph.output],
    )
    outputs = [f"{info.name}_if" for info in model.graph.output]
    node = helper.make_node(
        "If", ["if_condition"], outputs, name="branch", then_branch=then, else_branch=other
    )
    infos = []
    for info, name in zip(model.graph.output, outputs, strict=True):
        copy = ValueInfoProto()
        copy.CopyFrom(info)
        copy.name = name
        infos.append(copy)
    condition = helper.make_tensor_value_info("if_condition", TensorProto.BOOL, [])
    graph = helper.make_graph(
        [node],
        "graph",
        [condition, *model.graph.input],
        infos,
        initializer=list(model.graph.initializer),
    )
    return helper.make_model(
        graph, opset_imports=list(model.opset_import), ir_version=model.ir_version
    )


def _renamed(node: NodeProto, produced: set[str]) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.name = f"{node.name}_else"
    for slots in (copy.input, copy.output):
        for index, name in enumerate(slots):
            slots[index] = f"{name}_else" if name in produced else name
    return copy


def _renamed_info(info: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(info)
    copy.name = f"{info.name}_else"
    return copy


def interiors(world: World) -> list[ValueInfoProto]:
    """Values that the pattern owns: nothing outside may use them."""
    found = []
    for node in world.structure.nodes:
        if node.borrowed:
            continue
        for slot in node.outputs:
            if slot not in world.structure.roots and not _feeds_borrowed(world, node, slot):
                found.append(value_info(name_of(slot), world.dtypes[slot], world.shapes[slot]))
    return found


def _feeds_borrowed(world: World, node: PatternNode, slot: Slot) -> bool:
    return any(consumer.borrowed for consumer in world.structure.consumers(slot))
