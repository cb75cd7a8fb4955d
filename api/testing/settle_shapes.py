"""Shapes, attributes and constant operands of all nodes, in topological order."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TypeProto, helper

from .expand_pattern import Unsatisfiable
from .op_movement import MOVEMENT
from .op_shapes import ANY_SHAPES, ELEMENTWISE, PRODUCTS, Settle
from .protos import make_node
from .site import Shape, Shapes, Site, join_transparent
from .solver import Solver
from .structure import PatternNode, Structure
from .world import NUMPY, is_quantizer

BUILDERS: dict[str, Settle] = {**ELEMENTWISE, **MOVEMENT, **PRODUCTS}


def sort_nodes(structure: Structure) -> None:
    """Put the nodes into topological order."""
    done: set[str] = set()
    made = {slot for node in structure.nodes for slot in node.outputs}
    waiting, ordered = list(structure.nodes), []
    while waiting:
        ready = [n for n in waiting if all(s in done for s in n.inputs if s in made)]
        if not ready:
            raise Unsatisfiable("the pattern's nodes form a cycle")
        for node in ready:
            done.update(node.outputs)
        ordered += ready
        waiting = [node for node in waiting if all(node is not each for each in ready)]
    structure.nodes[:] = ordered


def settle_shapes(solver: Solver) -> Shapes:
    """Settle every node; Unsatisfiable if one cannot be made valid."""
    world = solver.world
    shapes = Shapes(world)
    for node in world.structure.nodes:
        join_transparent(node, shapes)
    for slot, value in world.structure.literals.items():
        world.contents[slot] = np.asarray(value).astype(NUMPY[world.dtypes[slot]])
        shapes.set(slot, world.contents[slot].shape)
    for node in world.structure.nodes:
        if is_quantizer(node.op):
            for parameter in node.inputs[1:]:
                if parameter is not None and world.structure.producer(parameter) is not None:
                    shapes.set(parameter, ())
    for node in world.structure.nodes:
        if is_quantizer(node.op):
            continue
        builder = BUILDERS.get(node.op)
        if builder is None:
            raise Unsatisfiable(f"no graphs are made with {node.op}")
        builder(Site(node, solver, shapes))
        _fixed_attributes(Site(node, solver, shapes))
        _infer(node, solver, shapes)
    for node in world.structure.nodes:  # a tensor that only Q and DQ touch
        if is_quantizer(node.op) and node.inputs[0] is not None:
            site = Site(node, solver, shapes)
            site.choose_shape(0, solver.prefer(ANY_SHAPES, [(), (0,), (256,)], 20))
    return shapes


def _fixed_attributes(site: Site) -> None:
    """What the pattern states of a node and its function did not ask for."""
    for name in site.node.fixed:
        if name not in site.world.stated(site.node):
            site.attribute(name)


def _infer(node: PatternNode, solver: Solver, shapes: Shapes) -> None:
    """Set the shapes of a node's outputs that are not known from its first operand's."""
    if all(shapes.get(slot) is not None for slot in node.outputs) and "::" in node.op:
        return  # onnx knows none of these ops: its function has set the shape
    found = inferred_shapes(node, solver)
    for slot, shape in zip(node.outputs, found, strict=False):
        known = shapes.get(slot)
        if known is not None and shape is not None and known != shape:
            raise Unsatisfiable(f"{node.op}: its result has another shape")
        if known is None:
            if shape is None:
                raise Unsatisfiable(f"{node.op}: no shape follows for its result")
            shapes.set(slot, shape)


def inferred_shapes(node: PatternNode, solver: Solver) -> list[Shape | None]:
    """The shapes of a node's outputs by ONNX's shape inference."""
    world = solver.world
    proto = make_node(world, node, str)
    types: dict[str, TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for slot in node.inputs:
        if slot is None:
            continue
        if slot not in world.shapes:
            raise Unsatisfiable(f"{node.op}: an operand has no shape")
        number = helper.np_dtype_to_tensor_dtype(NUMPY[world.dtypes[slot]])
        types[slot] = helper.make_tensor_type_proto(number, world.shapes[slot])
        if slot in world.contents:
            data[slot] = onnx.numpy_helper.from_array(world.contents[slot], slot)
    imports = [helper.make_opsetid("", world.opset), helper.make_opsetid("com.microsoft", 1)]
    try:
        found = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(proto.op_type, world.opset, proto.domain),
            proto,
            types,
            data,
            opset_imports=imports,
        )
    except (
        onnx.shape_inference.InferenceError,
        onnx.checker.ValidationError,
        onnx.defs.SchemaError,
    ) as problem:
        raise Unsatisfiable(f"{node.op}: {problem}") from None
    return [_static(found.get(slot)) for slot in node.outputs]


def _static(found: TypeProto | None) -> Shape | None:
    if found is None or not found.tensor_type.HasField("shape"):
        return None
    dims = found.tensor_type.shape.dim
    if not all(dim.HasField("dim_value") for dim in dims):
        return None
    return tuple(dim.dim_value for dim in dims)
