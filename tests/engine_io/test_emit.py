"""What is written back after rewrites: all that must be there, and nothing left over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from single_node import session

from qrewrite.engine.edits.replace import commit
from qrewrite.engine.graph import Graph, Model, Node
from qrewrite.engine.io.emit import PROVENANCE, to_proto
from qrewrite.engine.io.models import read_model
from qrewrite.engine.protocols import Replacement

Array = NDArray[Any]

RESIDUAL = """
    q = QuantizeLinear (x, s0, z0)
    dw = DequantizeLinear (w, s1, z1)
    da = DequantizeLinear (q, s0, z0)
    c = Conv <pads = [1, 1, 1, 1], kernel_shape = [3, 3]> (da, dw)
    qc = QuantizeLinear (c, s2, z2)
    db = DequantizeLinear (qc, s2, z2)
    t = Add (db, da)
    qt = QuantizeLinear (t, s3, z3)
    y = DequantizeLinear (qt, s3, z3)
"""


def constants(prefix: str = "") -> list[onnx.TensorProto]:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {"w": rng.integers(-60, 60, (2, 2, 3, 3)).astype(np.int8)}
    for i, dtype in enumerate((np.uint8, np.int8, np.uint8, np.uint8)):
        arrays[f"s{i}"] = np.float32(0.02 + 0.01 * i)
        arrays[f"z{i}"] = dtype(0 if i == 1 else 120 + i)
    return [numpy_helper.from_array(np.asarray(a), prefix + n) for n, a in arrays.items()]


def model(ir_version: int = 9, body: str = RESIDUAL, opset: int = 17) -> onnx.ModelProto:
    text = (
        f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> g (float[1, 2, 5, 5] x) => '
        f"(float[1, 2, 5, 5] y) {{ {body} }}"
    )
    proto = onnx.parser.parse_model(text)
    for index, node in enumerate(proto.graph.node):
        node.name = f"n{index}_{node.op_type}"
    proto.graph.initializer.extend(constants())
    if ir_version < 4:
        for tensor in proto.graph.initializer:
            info = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            proto.graph.input.append(info)
    return proto


def fuse(graph: Graph) -> int:
    """Conv and Add between DQ and Q to their quantized forms."""
    count = 0
    for node in graph.nodes:
        if node.alive and node.op in ("Conv", "Add"):
            (q,) = node.outputs[0].uses  # type: ignore[union-attr]  # present in these models
            count += fuse_one(node, q)
    return count


def fuse_one(node: Node, q: Node) -> bool:
    a, b = (value.producer for value in node.inputs if value is not None)
    assert a is not None and b is not None
    operands = [*a.inputs, *b.inputs, *q.inputs[1:]]
    op = "QLinearConv" if node.op == "Conv" else "com.microsoft::QLinearAdd"
    new = node.graph.new_node(op, operands, [q.outputs[0]], dict(node.attributes))
    commit(Replacement(node, [node, q], [new]), f"pack/{node.op.lower()}")
    return True


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                if body.node or body.output:
                    yield from graphs(body)


def check(
    before: onnx.ModelProto, after: onnx.ModelProto, feeds: dict[str, Array] | None = None
) -> None:
    """The rewritten model is valid, complete and tidy, and computes the same within two quanta."""
    onnx.checker.check_model(after, full_check=True)
    for graph in graphs(after.graph):
        read = {name for inner in graphs(graph) for node in inner.node for name in node.input}
        read |= {info.name for inner in graphs(graph) for info in inner.output}
        inputs = {info.name for info in graph.input}
        made = {name for node in graph.node for name in node.output}
        for node in graph.node:
            assert read & set(node.output), f"dead node {node.name}"
        for tensor in graph.initializer:
            assert tensor.name in read, f"unused initializer {tensor.name}"
        for info in graph.value_info:
            assert info.name in made | inputs | {t.name for t in graph.initializer}
    names = [node.name for graph in graphs(after.graph) for node in graph.node if node.name]
    assert len(names) == len(set(names))
    if feeds is None:
        feeds = {"x": np.random.default_rng(1).normal(0, 2, (1, 2, 5, 5)).astype(np.float32)}
    expected, actual = (session(proto).run(None, feeds) for proto in (before, after))
    for old, new in zip(expected, actual, strict=True):
        assert np.abs(old - new).max() <= 2 * 0.05


def ops(graph: onnx.GraphProto) -> list[str]:
    return [node.op_type for node in graph.node]


def rewritten(proto: onnx.ModelProto) -> tuple[Model, onnx.ModelProto]:
    view = read_model(proto)
    assert fuse(view.graph) == 2
    return view, to_proto(view)


# ---- nodes and constants ----------------------------------------------------------------------


@pytest.mark.parametrize("ir_version", [3, 4, 9, 10])
def test_a_rewritten_graph(ir_version: int) -> None:
    proto = model(ir_version)
    _, after = rewritten(proto)
    check(proto, after)
    assert ops(after.graph) == ["QuantizeLinear", "QLinearConv", "QLinearAdd", "DequantizeLinear"]
    conv = after.graph.node[1]
    assert conv.name == "n3_Conv" and conv.output == ["qc"]
    assert {a.name: list(a.ints) for a in conv.attribute} == {
        "pads": [1, 1, 1, 1],
        "kernel_shape": [3, 3],
    }
    imports = {entry.domain: entry.version for entry in after.opset_import}
    assert imports == {"": 17, "com.microsoft": 1}
    provenance = [{e.key: e.value for e in node.metadata_props} for node in after.graph.node]
    made_by = [{}, {PROVENANCE: "pack/conv"}, {PROVENANCE: "pack/add"}, {}]
    assert provenance == (made_by if ir_version >= 10 else [{}] * 4)


def test_nothing_changed_gives_back_what_came_in() -> None:
    proto = model()
    assert to_proto(read_model(proto)) is proto


def test_the_given_proto_is_left_alone() -> None:
    proto = model()
    before = proto.SerializeToString()
    rewritten(proto)
    assert proto.SerializeToString() == before


def test_the_same_rewrite_gives_the_same_bytes_and_writing_back_twice_changes_nothing() -> None:
    view, after = rewritten(model())
    first = after.SerializeToString()
    assert to_proto(view).SerializeToString() == first
    assert rewritten(model())[1].SerializeToString() == first


def test_the_view_can_be_edited_further_after_writing_back() -> None:
    proto = model()
    view = read_model(proto)
    conv = next(node for node in view.graph.nodes if node.op == "Conv")
    fuse_one(conv, next(node for node in view.graph.nodes if node.name == "n4_QuantizeLinear"))
    half = onnx.ModelProto.FromString(to_proto(view).SerializeToString())
    check(proto, half)
    assert fuse(view.graph) == 1
    check(proto, to_proto(view))


def test_messages_of_removed_nodes_leave_nothing_behind_in_those_that_take_them_over() -> None:
    proto = model(10)
    for node in proto.graph.node:
        node.doc_string = "old"
        node.metadata_props.add(key="old", value="old")
    _, after = rewritten(proto)
    for node in after.graph.node:
        made = node.op_type.startswith("QLinear")
        assert node.doc_string == ("" if made else "old")
        assert [e.key for e in node.metadata_props] == [PROVENANCE if made else "old"]
        assert node.op_type != "QLinearAdd" or not node.attribute


def test_constants_made_by_rules() -> None:
    proto = model(3)
    view = read_model(proto)
    conv = next(node for node in view.graph.nodes if node.op == "Conv")
    weight = view.graph.values["dw"].producer
    assert weight is not None
    new = view.graph.new_constant(np.full((2, 2, 3, 3), 0.25, np.float32), "w_float")
    unused = view.graph.new_constant(np.ones(3, np.float32), "unused")
    assert unused.constant
    commit(Replacement(weight, [weight], [], [(weight.outputs[0], new)]))  # type: ignore[list-item]
    after = to_proto(view)
    onnx.checker.check_model(after, full_check=True)
    names = [tensor.name for tensor in after.graph.initializer]
    assert "w_float" in names and not {"w", "s1", "z1", "unused"} & set(names)
    assert {info.name for info in after.graph.input} == {"x", *names}
    assert conv.alive and list(after.graph.node[3].input) != ["da", "dw"]
    array = numpy_helper.to_array(after.graph.initializer[names.index("w_float")])
    assert array.shape == (2, 2, 3, 3) and (array == 0.25).all()
    session(after)


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.BFLOAT16, TensorProto.STRING])
def test_constants_of_types_that_numpy_lacks(kind: int) -> None:
    if kind == TensorProto.STRING:
        array = np.asarray(["a", "bc", "d"], object)
    else:
        array = np.asarray([1, -2, 3]).astype(helper.tensor_dtype_to_np_dtype(kind))
    text = (
        '<ir_version: 10, opset_import: ["" : 21]> g (float[3] x) => (float[3] y) { y = Neg (x) }'
    )
    view = read_model(onnx.parser.parse_model(text))
    graph = view.graph
    cast = graph.new_node("Identity", [graph.new_constant(array, "k")], [graph.new_value()])
    neg = graph.nodes[0]
    same = graph.new_node("Neg", list(neg.inputs), list(neg.outputs))
    kept = graph.new_node("my.domain::Keep", [cast.outputs[0]], [graph.new_value()])
    commit(Replacement(neg, [neg], [cast, kept, same]))
    after = to_proto(view)
    (tensor,) = after.graph.initializer
    assert tensor.data_type == kind
    assert (
        numpy_helper.to_array(tensor).tolist()
        == numpy_helper.to_array(numpy_helper.from_array(array)).tolist()
    )


def test_initializers_that_are_inputs_stay_inputs() -> None:
    """From IR version 4 on they are part of the interface, used or not."""
    proto = model(8)
    proto.graph.input.append(helper.make_tensor_value_info("s1", TensorProto.FLOAT, []))
    proto.graph.initializer.append(numpy_helper.from_array(np.float32(3), "spare"))
    proto.graph.input.append(helper.make_tensor_value_info("spare", TensorProto.FLOAT, []))
    view = read_model(proto)
    add = next(node for node in view.graph.nodes if node.op == "Add")
    fuse_one(add, next(node for node in view.graph.nodes if node.name == "n7_QuantizeLinear"))
    after = to_proto(view)
    assert [info.name for info in after.graph.input] == ["x", "s1", "spare"]
    assert {"s1", "spare"} <= {tensor.name for tensor in after.graph.initializer}


# ---- what is left over ------------------------------------------------------------------------


def test_dead_nodes_unused_initializers_and_stale_descriptions_go() -> None:
    proto = model()
    graph = proto.graph
    graph.initializer.append(numpy_helper.from_array(np.float32(1), "unused"))
    dead = [
        helper.make_node("Neg", ["t"], ["dead1"], "d1"),
        helper.make_node("Abs", ["dead1"], ["dead2"]),
    ]
    graph.node.extend(dead)
    graph.node.append(helper.make_node("Log", ["x"], ["kept"], "effect", domain="my.domain"))
    proto.opset_import.add(domain="my.domain", version=1)
    inferred = onnx.shape_inference.infer_shapes(proto)
    graph.value_info.extend(inferred.graph.value_info)
    graph.value_info.append(helper.make_tensor_value_info("never_was", TensorProto.FLOAT, [1]))
    assert len(graph.value_info) > 9
    for name in ("c", "q"):
        entry = graph.quantization_annotation.add(tensor_name=name)
        entry.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s0")
    view = read_model(proto)
    assert fuse_one(
        *(node for node in view.graph.nodes if node.name in ("n3_Conv", "n4_QuantizeLinear"))
    )
    after = to_proto(view)
    described = {info.name for info in after.graph.value_info}
    assert "qc" in described and not described & {"c", "dw", "dead1", "dead2", "never_was"}
    assert not {"Neg", "Abs"} & set(ops(after.graph))
    assert ops(after.graph)[-1] == "Log", "an op of a custom domain may have an effect"
    assert "unused" not in {tensor.name for tensor in after.graph.initializer}
    assert [entry.tensor_name for entry in after.graph.quantization_annotation] == ["q"]
    onnx.checker.check_model(after, full_check=True)


def test_types_of_retyped_values_are_corrected() -> None:
    proto = model()
    proto.graph.value_info.extend(onnx.shape_inference.infer_shapes(proto).graph.value_info)
    view = read_model(proto)
    q = next(node for node in view.graph.nodes if node.name == "n4_QuantizeLinear")
    dq = next(node for node in view.graph.nodes if node.name == "n5_DequantizeLinear")
    zero_point = view.graph.new_constant(np.asarray(-6, np.int8), "z2_int8")
    value = q.outputs[0]
    assert value is not None
    new_q = view.graph.new_node("QuantizeLinear", [*q.inputs[:2], zero_point], [value])
    new_dq = view.graph.new_node("DequantizeLinear", [*dq.inputs[:2], zero_point], list(dq.outputs))
    commit(Replacement(q, [q, dq], [new_q, new_dq], [], [(value, TensorProto.INT8)]))
    after = to_proto(view)
    types = {info.name: info.type.tensor_type.elem_type for info in after.graph.value_info}
    assert types["qc"] == TensorProto.INT8 and types["q"] == TensorProto.UINT8
    shape = next(
        info for info in after.graph.value_info if info.name == "qc"
    ).type.tensor_type.shape
    assert [dim.dim_value for dim in shape.dim] == [1, 2, 5, 5]
    check(proto, after)


def test_names_that_repeat_are_made_unique_and_the_first_keeps_its_own() -> None:
    proto = model()
    for node in proto.graph.node:
        node.name = "" if node.op_type == "Add" else "same"
    _, after = rewritten(proto)
    names = [node.name for node in after.graph.node]
    assert names[0] == "same" and len(set(names)) == 4 and all(names)


def test_what_surrounds_the_graph_is_kept() -> None:
    proto = model()
    proto.doc_string, proto.producer_name, proto.model_version = "doc", "me", 7
    proto.metadata_props.add(key="k", value="v")
    proto.graph.doc_string = "graph doc"
    info = proto.training_info.add()
    info.initialization.name = "init"
    info.initialization.output.append(proto.graph.output[0])
    function = helper.make_function(
        "my.domain", "F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], proto.opset_import
    )
    proto.functions.append(function)
    _, after = rewritten(proto)
    for field in ("doc_string", "producer_name", "model_version", "metadata_props"):
        assert getattr(after, field) == getattr(proto, field)
    assert after.graph.doc_string == "graph doc"
    assert after.training_info == proto.training_info and after.functions == proto.functions


# ---- bodies -----------------------------------------------------------------------------------


def with_body() -> onnx.ModelProto:
    """The residual block inside both branches of an If; x, and in one branch w, are captured."""
    outer = model()
    graph = outer.graph
    branches = []
    for prefix in ("t_", "e_"):
        nodes = []
        for node in graph.node:
            copy = onnx.NodeProto.FromString(node.SerializeToString())
            names = [
                n if n == "x" or (n == "w" and prefix == "t_") else prefix + n for n in node.input
            ]
            copy.input[:] = names
            copy.output[:] = [prefix + name for name in node.output]
            nodes.append(copy)
        body = helper.make_graph(nodes, prefix, [], [helper.make_tensor_value_info(
            f"{prefix}y", TensorProto.FLOAT, [1, 2, 5, 5])], constants(prefix))  # fmt: skip
        if prefix == "t_":
            del body.initializer[0]
        body.value_info.append(
            helper.make_tensor_value_info(f"{prefix}c", TensorProto.FLOAT, [1, 2, 5, 5])
        )
        branches.append(body)
    del graph.node[:]
    graph.node.append(
        helper.make_node(
            "If", ["cond"], ["y"], "choice", then_branch=branches[0], else_branch=branches[1]
        )
    )
    del graph.initializer[1:]
    graph.input.append(helper.make_tensor_value_info("cond", TensorProto.BOOL, []))
    return outer


def test_bodies_are_written_back_and_captures_kept() -> None:
    proto = with_body()
    view = read_model(proto)
    assert [fuse(graph) for graph in view.graphs[1:]] == [2, 2]
    after = to_proto(view)
    x = np.random.default_rng(1).normal(0, 2, (1, 2, 5, 5)).astype(np.float32)
    for condition in (True, False):
        check(proto, after, {"x": x, "cond": np.asarray(condition)})
    assert [tensor.name for tensor in after.graph.initializer] == ["w"]
    then, other = (a.g for a in after.graph.node[0].attribute)
    for body in (then, other):
        expected = ["QuantizeLinear", "QLinearConv", "QLinearAdd", "DequantizeLinear"]
        assert ops(body) == expected and not body.value_info
    assert {entry.domain for entry in after.opset_import} == {"", "com.microsoft"}


def test_bodies_are_found_again_where_they_moved() -> None:
    proto = with_body()
    for name in ("a", "b"):
        proto.graph.node.insert(0, helper.make_node("Neg", ["x"], [name], name))
    view = read_model(proto)
    fuse(view.graphs[1])
    after = to_proto(view)
    assert ops(after.graph) == ["If"]
    for body in view.graphs[1:]:
        index, name, _ = body.path
        assert isinstance(index, int)
        attribute = next(a for a in after.graph.node[index].attribute if a.name == name)
        assert attribute.g is body.proto


def test_a_body_that_goes_releases_what_it_captured() -> None:
    proto = with_body()
    graph = proto.graph
    graph.node[0].output[0] = "unread"
    graph.node.append(helper.make_node("Neg", ["x"], ["a"], "neg"))
    graph.node.append(helper.make_node("Neg", ["a"], ["y"], "neg2"))
    view = read_model(proto)
    first, second = (node for node in view.graph.nodes if node.op == "Neg")
    same = view.graph.new_node("Identity", list(first.inputs), list(second.outputs))
    commit(Replacement(second, [first, second], [same]))
    after = to_proto(view)
    assert ops(after.graph) == ["Identity"] and not after.graph.initializer
    onnx.checker.check_model(after, full_check=True)


def test_a_captured_value_counts_as_used() -> None:
    """A node whose only reader stands in a body is not dead."""
    proto = with_body()
    proto.graph.node.insert(0, helper.make_node("Identity", ["x"], ["seen"], "feeder"))
    for attribute in proto.graph.node[1].attribute:
        attribute.g.node[0].input[0] = "seen"
    view = read_model(proto)
    for graph in view.graphs[1:]:
        fuse(graph)
    assert ops(to_proto(view).graph) == ["Identity", "If"]
