"""Building the view: links, constants, captures, order, and models that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from python_rules import calls_made, lines, node_of, parse, view

from qrewrite.engine.edits.invariants import check_invariants
from qrewrite.engine.errors import ModelError
from qrewrite.engine.graph import consumers
from qrewrite.engine.io.build import build


def value_info(name: str, shape: list[int] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape or [2])


def model_of(nodes: list[onnx.NodeProto], ir_version: int = 8, **graph: Any) -> onnx.ModelProto:
    given = {"inputs": [value_info("x")], "outputs": [value_info("y")], **graph}
    made = helper.make_graph(nodes, "g", **given)
    return helper.make_model(
        made, ir_version=ir_version, opset_imports=[helper.make_opsetid("", 17)]
    )


def test_uses_count_the_slots_of_each_consumer() -> None:
    model = view("g (float[2] x) => (float[2] y) { a = Relu(x)\n b = Add(a, a)\n y = Mul(a, b) }")
    uses = {node.op: count for node, count in model.graph.values["a"].uses.items()}
    assert uses == {"Add": 2, "Mul": 1}
    assert model.graph.values["y"].is_output and not model.graph.values["y"].uses
    assert model.graph.values["x"].is_input and model.graph.values["x"].producer is None
    check_invariants(model)


def test_absent_inputs_are_none_and_trailing_ones_are_cut_off() -> None:
    nodes = [
        helper.make_node("Clip", ["x", "", "high"], ["c"]),
        helper.make_node("Clip", ["c", "", ""], ["y", ""]),
    ]
    high = numpy_helper.from_array(np.array(3, np.float32), "high")
    model = build(model_of(nodes, initializer=[high]))
    first, second = model.graph.nodes
    assert first.inputs[1] is None and len(first.inputs) == 3
    assert len(second.inputs) == 1 and len(second.outputs) == 1


def test_absent_outputs_in_the_middle_stay() -> None:
    nodes = [helper.make_node("Dropout", ["x"], ["", "m"]), helper.make_node("Not", ["m"], ["y"])]
    out = [helper.make_tensor_value_info("y", TensorProto.BOOL, [2])]
    model = build(model_of(nodes, outputs=out))
    assert model.graph.nodes[0].outputs[0] is None


def test_ops_carry_their_domain_and_ai_onnx_is_the_empty_one() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], domain="ai.onnx"),
        helper.make_node("Foo", ["a"], ["y"], domain="com.acme"),
    ]
    model = build(model_of(nodes))
    assert [node.op for node in model.graph.nodes] == ["Relu", "com.acme::Foo"]


@pytest.mark.parametrize(("ir_version", "constant"), [(3, True), (4, False), (8, False)])
def test_an_initializer_that_is_an_input_is_constant_below_ir_version_4(
    ir_version: int, constant: bool
) -> None:
    weight = numpy_helper.from_array(np.ones(2, np.float32), "w")
    proto = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        ir_version,
        inputs=[value_info("x"), value_info("w")],
        initializer=[weight],
    )
    value = build(proto).graph.values["w"]
    assert value.constant is constant
    assert value.is_input and value.tensor is not None
    if constant:
        assert value.array().tolist() == [1, 1]
    else:
        with pytest.raises(ValueError, match="'w' is not a constant"):
            value.array()


def test_constants_are_read_only_and_read_once() -> None:
    weight = numpy_helper.from_array(np.arange(2, dtype=np.float32), "w")
    model = build(model_of([helper.make_node("Add", ["x", "w"], ["y"])], initializer=[weight]))
    array = model.graph.values["w"].array()
    assert array is model.graph.values["w"].array()
    with pytest.raises(ValueError):
        array[0] = 1


# ---- bodies ------------------------------------------------------------------------------------

NESTED = """
g (bool c, float[2] x, float[2] z) => (float[2] y) <float[1] k = {2}> {
    a = Relu(x)
    y = If (c) <
        then_branch = t () => (float[2] p) {
            q = Mul(a, k)
            p = If (c) <
                then_branch = tt () => (float[2] r) { r = Add(q, a) },
                else_branch = te () => (float[2] s) { s = Neg(z) }
            >
        },
        else_branch = e () => (float[2] p) { p = Sub(x, k) }
    >
}
"""


def test_captures_are_proxies_and_count_as_uses_of_the_owner() -> None:
    model = view(NESTED)
    names = [graph.proto.name for graph in model.graphs]
    assert names == ["g", "t", "e", "tt", "te"]
    main, then, _, inner, other = model.graphs
    owner = node_of(model, "y")
    assert owner.bodies == (then, model.graphs[2])
    proxy = then.values["a"]
    assert proxy.outer is main.values["a"] and proxy.producer is None
    assert inner.values["a"].outer is proxy
    assert main.values["a"].uses == {owner: 1}
    assert main.values["k"].uses == {owner: 2}  # captured by both branches
    assert main.values["z"].uses == {owner: 1}  # through two levels
    assert then.values["z"].uses == {other.owner: 1}
    assert main.values["c"].uses == {owner: 2}  # its condition, and the one of the inner If
    check_invariants(model)


def test_a_captured_constant_is_a_constant_inside() -> None:
    inside = view(NESTED).graphs[1].values["k"]
    assert inside.constant
    assert inside.array().tolist() == [2]


def test_sibling_bodies_may_use_the_same_names() -> None:
    model = view(NESTED)
    assert model.graphs[1].values["p"] is not model.graphs[2].values["p"]


def test_the_output_of_a_body_may_be_an_outer_value() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] y) {
        a = Relu(x)
        y = If (c) <
            then_branch = t () => (float[2] a) {},
            else_branch = e () => (float[2] b) { b = Neg(a) }
        >
    }"""
    model = view(text)
    assert model.graphs[1].outputs[0].outer is model.graph.values["a"]
    assert model.graph.values["a"].uses == {node_of(model, "y"): 2}
    check_invariants(model)


def nested(depth: int) -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["last"])], "leaf", [], [value_info("last")]
    )
    for level in range(depth):
        node = helper.make_node("If", ["c"], [f"y{level}"])
        for name in ("then_branch", "else_branch")[: 2 if level == 0 else 1]:
            node.attribute.append(helper.make_attribute(name, body))
        body = helper.make_graph([node], f"level{level}", [], [value_info(f"y{level}")])
    body.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    body.input.append(value_info("x"))
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)])


def test_nesting_as_deep_as_protobuf_reads_it() -> None:
    model = build(nested(30))
    assert len(model.graphs) == 32
    assert len(model.graph.values["x"].uses) == 1
    check_invariants(model)


# ---- order -------------------------------------------------------------------------------------


def test_an_unsorted_graph_is_sorted_stably() -> None:
    nodes = [
        helper.make_node("Add", ["b", "a"], ["y"]),
        helper.make_node("Relu", ["x"], ["b"]),
        helper.make_node("Neg", ["x"], ["unrelated"]),
        helper.make_node("Abs", ["x"], ["a"]),
    ]
    model = build(model_of(nodes))
    assert lines(model) == [
        "b = Relu(x)",
        "unrelated = Neg(x)",
        "a = Abs(x)",
        "y = Add(b, a)",
    ]
    check_invariants(model)


def test_a_body_that_captures_what_is_defined_after_it_is_sorted_too() -> None:
    body = helper.make_graph([helper.make_node("Neg", ["a"], ["p"])], "t", [], [value_info("p")])
    branch = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    inputs = [value_info("x"), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    model = build(model_of([branch, helper.make_node("Relu", ["x"], ["a"])], inputs=inputs))
    assert [node.op for node in model.graph.nodes] == ["Relu", "If"]
    check_invariants(model)


# ---- models that are wrong ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [helper.make_node("Add", ["x", "gone"], ["y"], name="add")],
            r"node 'add' \(Add\) reads value 'gone', which nothing defines",
        ),
        (
            [helper.make_node("Add", ["x", "gone"], ["y"])],
            r"the Add node that makes 'y' reads value 'gone'",
        ),
        (
            [
                helper.make_node("Relu", ["x"], ["y"]),
                helper.make_node("Neg", ["x"], ["y"], name="n"),
            ],
            r"node 'n' \(Neg\) defines value 'y', which",
        ),
        ([helper.make_node("Relu", ["x"], ["x"], name="n")], "node 'n' .* defines value 'x'"),
        ([helper.make_node("Relu", ["x"], ["z"])], "graph output 'y' .* nothing defines"),
        (
            [
                helper.make_node("Add", ["x", "b"], ["a"], name="one"),
                helper.make_node("Add", ["x", "a"], ["b"], name="two"),
                helper.make_node("Neg", ["b"], ["y"], name="three"),
            ],
            r"node 'one' \(Add\) is part of a cycle",
        ),
        ([helper.make_node("Add", ["x", "y"], ["y"], name="self")], "node 'self' .* cycle"),
    ],
)
def test_wrong_models_name_node_and_value(nodes: list[onnx.NodeProto], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build(model_of(nodes))


def test_an_if_whose_body_reads_its_own_output_is_a_cycle() -> None:
    body = helper.make_graph([helper.make_node("Neg", ["y"], ["p"])], "t", [], [value_info("p")])
    branch = helper.make_node("If", ["c"], ["y"], name="loop", then_branch=body, else_branch=body)
    inputs = [helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    with pytest.raises(ModelError, match=r"'loop' .* cycle"):
        build(model_of([branch], inputs=inputs))


def test_duplicate_initializers_and_inputs_are_errors() -> None:
    twice = [numpy_helper.from_array(np.array(1, np.float32), "w")] * 2
    node = helper.make_node("Add", ["x", "w"], ["y"])
    with pytest.raises(ModelError, match="initializer 'w'"):
        build(model_of([node], initializer=twice))
    with pytest.raises(ModelError, match="input 'x'"):
        build(model_of([node], inputs=[value_info("x")] * 2, initializer=twice[:1]))


def test_one_domain_at_two_versions_is_an_error() -> None:
    proto = model_of([helper.make_node("Relu", ["x"], ["y"])])
    proto.opset_import.add(domain="ai.onnx", version=13)
    with pytest.raises(ModelError, match=r"ai\.onnx at two versions, 17 and 13"):
        build(proto)


def test_an_undefined_value_in_a_body_is_an_error() -> None:
    proto = parse(NESTED.replace("Neg(z)", "Neg(nowhere)"))
    with pytest.raises(ModelError, match="reads value 'nowhere', which nothing defines"):
        build(proto)


# ---- size --------------------------------------------------------------------------------------


def chain(length: int) -> onnx.ModelProto:
    names = ["x", *(f"v{i}" for i in range(1, length)), "y"]
    nodes = [helper.make_node("Identity", [a], [b]) for a, b in pairwise(names)]
    return model_of(nodes)


def fan(width: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Relu", ["x"], ["a"])]
    nodes += [helper.make_node("Neg", ["a"], [f"v{i}"]) for i in range(width)]
    return model_of([*nodes, helper.make_node("Sum", [f"v{i}" for i in range(width)], ["y"])])


@pytest.mark.parametrize("make", [chain, fan])
def test_work_to_build_is_linear(make: Callable[[int], onnx.ModelProto]) -> None:
    few, _ = calls_made(lambda: build(make(400)))
    many, _ = calls_made(lambda: build(make(4_000)))
    assert many < 12 * few


def test_consumers_come_in_topological_order() -> None:
    model = view("g (float[2] x) => (float[2] y) { a = Relu(x)\n b = Neg(a)\n y = Add(a, b) }")
    assert [node.op for node in consumers(model.graph.values["a"])] == ["Neg", "Add"]
