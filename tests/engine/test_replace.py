"""Committing a replacement: whole or not at all, and only where the graph stays valid."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto
from python_rules import consumers, lines, node_of, outputs, parse, view, written

from qrewrite.engine.attributes import encode
from qrewrite.engine.edits.invariants import check_invariants, fingerprint
from qrewrite.engine.edits.replace import commit
from qrewrite.engine.errors import Refused
from qrewrite.engine.graph import Model, Node
from qrewrite.engine.io.build import build
from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.protocols import Replacement

CONV = """
g (float[1,2,4,4] x) => (uint8[1,2,4,4] y)
  <float s = {0.5}, uint8 z = {0}, int8[2,2,1,1] w = {1, 2, 3, 4}, int8 wz = {0}>
{
    q = QuantizeLinear(x, s, z)
    dx = DequantizeLinear(q, s, z)
    dw = DequantizeLinear(w, s, wz)
    [conv] c = Conv <kernel_shape = [1, 1]> (dx, dw)
    y = QuantizeLinear(c, s, z)
}"""


def fuse_conv(model: Model) -> Replacement:
    """Conv between DQ and Q to QLinearConv, without asking whether it may."""
    values = model.graph.values
    conv, quantize = node_of(model, "c"), node_of(model, "y")
    data, weight = (v.producer for v in conv.inputs if v is not None)
    assert data is not None and weight is not None
    operands = [*data.inputs, *weight.inputs, values["s"], values["z"]]
    fused = model.graph.new_node("QLinearConv", operands, [values["y"]], conv.attributes)
    return Replacement(conv, [conv, quantize], [fused])


def refusal(model: Model, replacement: Replacement) -> str:
    """The reason for which a commit is refused; the graph must be as it was."""
    before = fingerprint(model)
    with pytest.raises(Refused) as caught:
        commit(replacement)
    assert fingerprint(model) == before
    check_invariants(model)
    return str(caught.value)


def test_a_fusion_takes_name_place_and_output_and_what_is_dead_goes() -> None:
    model = view(CONV)
    change = commit(fuse_conv(model), "onnx/conv")
    check_invariants(model)
    assert lines(model) == [
        "q = QuantizeLinear(x, s, z)",
        "y = QLinearConv(q, s, z, w, s, wz, s, z)",
    ]
    fused = node_of(model, "y")
    assert (fused.name, fused.rule, fused.order) == ("conv", "onnx/conv", (4,))
    assert [node.op for node in change.removed] == [
        "Conv",
        "QuantizeLinear",
        "DequantizeLinear",
        "DequantizeLinear",
    ]
    assert model.graph.values["y"].dtype == TensorProto.UINT8
    assert model.graph.values["s"].uses == {node_of(model, "q"): 1, fused: 3}
    written(model)


def test_the_history_of_a_node_names_all_rules_once() -> None:
    model = view("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    for rule in ("a/one", "b/two", "a/one"):
        old = node_of(model, "y")
        commit(
            Replacement(old, [old], [model.graph.new_node("Neg", old.inputs, old.outputs)]), rule
        )
    assert node_of(model, "y").rule == "a/one b/two"


def test_a_shared_borrowed_node_stays() -> None:
    model = view(
        CONV.replace("y = Quant", "other = Relu(dx)\n y = Quant").replace(
            "(uint8[1,2,4,4] y)", "(uint8[1,2,4,4] y, float[1,2,4,4] other)"
        )
    )
    commit(fuse_conv(model))
    assert [node.op for node in consumers(model.graph.values["dx"])] == ["Relu"]
    check_invariants(model)


def test_undo_restores_everything() -> None:
    model = view(CONV)
    before = fingerprint(model)
    text = lines(model)
    commit(fuse_conv(model)).undo()
    assert fingerprint(model) == before
    assert lines(model) == text
    assert not any(graph.edited for graph in model.graphs)
    check_invariants(model)
    commit(fuse_conv(model))
    assert node_of(model, "y").name == "conv"


# ---- refusals ----------------------------------------------------------------------------------


def test_an_owned_value_that_is_used_elsewhere() -> None:
    model = view(
        CONV.replace("y = Quant", "[r] other = Relu(c)\n y = Quant").replace(
            "(uint8[1,2,4,4] y)", "(uint8[1,2,4,4] y, float[1,2,4,4] other)"
        )
    )
    assert refusal(model, fuse_conv(model)) == "'c' is still used by 'r'"


def test_an_owned_value_that_is_a_graph_output() -> None:
    model = view(CONV.replace("4] y)", "4] y, float[1,2,4,4] c)"))
    assert refusal(model, fuse_conv(model)) == "'c' is a graph output"


def replace_relu(model: Model, op: str, attributes: dict[str, object] | None = None) -> Replacement:
    old = node_of(model, "a")
    encoded = {name: encode(name, value) for name, value in (attributes or {}).items()}
    new = model.graph.new_node(op, old.inputs, old.outputs, encoded)
    return Replacement(old, [old], [new])


RELU = "g (float[2] x) => (float[2] y) { a = Relu(x)\n y = Neg(a) }"


@pytest.mark.parametrize(
    ("op", "attributes", "opset", "message"),
    [
        (
            "Cast",
            {"to": TensorProto.INT32},
            17,
            "the element type of 'a' would change from f32 to i32",
        ),
        ("Shape", {}, 17, "the element type of 'a' would change from f32 to i64"),
        ("Gelu", {}, 17, "Gelu is not known at opset 17"),
        ("Not", {}, 17, "input X of Not cannot be f32"),
        ("Add", {}, 17, "input B of Add is missing"),
        ("com.microsoft::NoSuchOp", {}, 17, "com.microsoft::NoSuchOp is not known at opset 1"),
        (
            "com.microsoft::NhwcMaxPool",
            {},
            17,
            "input x of com.microsoft::NhwcMaxPool cannot be f32",
        ),
    ],
)
def test_types_and_versions(
    op: str, attributes: dict[str, object], opset: int, message: str
) -> None:
    model = view(RELU, opset=opset)
    assert refusal(model, replace_relu(model, op, attributes)) == message


def test_an_op_of_the_right_version_passes() -> None:
    model = view(RELU, opset=20)
    commit(replace_relu(model, "Gelu"))
    written(model)


def test_operands_of_one_type_variable_must_agree() -> None:
    model = view(CONV)
    replacement = fuse_conv(model)
    replacement.nodes[0].inputs[5] = model.graph.values["z"]  # uint8 zero point of an int8 weight
    reason = refusal(model, replacement)
    assert reason.startswith("input w_zero_point of QLinearConv is u8, but must be i8")


def test_a_node_that_is_gone_cannot_be_replaced_again() -> None:
    model = view(CONV)
    first, second = fuse_conv(model), fuse_conv(model)
    commit(first)
    assert "still" not in refusal(model, second)


def test_a_root_that_is_not_removed() -> None:
    model = view(RELU)
    replacement = replace_relu(model, "Abs")
    replacement.removed.clear()
    assert "replaced but not removed" in refusal(model, replacement)


def test_an_operand_that_the_rewrite_removes() -> None:
    model = view(RELU)
    relu, neg = node_of(model, "a"), node_of(model, "y")
    new = model.graph.new_node("Abs", [model.graph.values["a"]], neg.outputs)
    assert refusal(model, Replacement(neg, [relu, neg], [new])) == (
        "operand 'a' is removed by the rewrite itself"
    )


# ---- several roots -----------------------------------------------------------------------------

TWO_ROOTS = """
g (float[2] x) => (float[2] r, float[2] t) {
    a = Relu(x)
    b = Neg(a)
    e = Exp(x)
    c = Abs(e)
    r = Identity(b)
    t = Identity(c)
}"""


def join(model: Model) -> Replacement:
    """Neg(a) and Abs(e) become one node with two outputs that reads a and e."""
    values = model.graph.values
    neg, absolute = node_of(model, "b"), node_of(model, "c")
    new = model.graph.new_node(
        "com.acme::Both", [values["a"], values["e"]], [values["b"], values["c"]]
    )
    return Replacement(neg, [neg, absolute], [new])


def test_several_roots_stand_behind_the_last_operand() -> None:
    model = view(TWO_ROOTS)
    commit(join(model))
    check_invariants(model)
    assert lines(model)[1:3] == ["e = Exp(x)", "b, c = com.acme::Both(a, e)"]


def test_several_roots_are_refused_where_a_user_comes_first() -> None:
    # The user of b stands before e, the other operand.
    text = TWO_ROOTS.replace("b = Neg(a)\n", "b = Neg(a)\n [early] early = Exp(b)\n").replace(
        "float[2] t)", "float[2] t, float[2] early)"
    )
    model = view(text)
    assert refusal(model, join(model)) == "node 'early' (Exp) would stand before its operand"


def test_a_match_that_is_not_convex_is_refused() -> None:
    # e depends on b: a node that makes b and reads e would be a cycle.
    text = TWO_ROOTS.replace("e = Exp(x)", "[between] e = Exp(b)")
    model = view(text)
    assert refusal(model, join(model)) == "node 'between' (Exp) would stand before its operand"


def test_nodes_put_behind_another_keep_their_place_when_that_is_replaced() -> None:
    model = view(TWO_ROOTS)
    commit(join(model))
    old = node_of(model, "e")
    middle = model.graph.new_value()
    first = model.graph.new_node("Exp", old.inputs, [middle])
    second = model.graph.new_node("Relu", [middle], old.outputs)
    commit(Replacement(old, [old], [first, second]))
    check_invariants(model)
    assert [node.op for node in model.graph.nodes][1:4] == ["Exp", "Relu", "com.acme::Both"]


# ---- new names and constants -------------------------------------------------------------------


def test_names_of_new_nodes_and_values_derive_from_the_anchor() -> None:
    model = view("g (float[2] x) => (float[2] y) { [r] y = Relu(x) }")
    old = node_of(model, "y")
    middle = model.graph.new_value()
    first = model.graph.new_node("Neg", old.inputs, [middle])
    second = model.graph.new_node("com.microsoft::QuickGelu", [middle], old.outputs)
    commit(Replacement(old, [old], [first, second]))
    assert [node.name for node in model.graph.nodes] == ["r_neg", "r"]
    assert middle.name == "r_neg_output"
    assert middle.dtype == TensorProto.FLOAT
    written(model)


def test_repeated_and_empty_names_of_nodes() -> None:
    text = "g (float[2] x) => (float[2] y) { [n] a = Relu(x)\n [n] b = Relu(a)\n y = Relu(b) }"
    model = view(text)
    for node in model.graph.nodes:
        new = model.graph.new_node("Abs", node.inputs, node.outputs)
        commit(Replacement(node, [node], [new]))
    assert [node.name for node in model.graph.nodes] == ["n_1", "n_2", "y_abs"]


def add_constant(model: Model, value: str, array: np.ndarray, hint: str) -> None:
    old = node_of(model, value)
    constant = model.graph.new_constant(array, hint)
    operands = [old.inputs[0], constant]
    commit(Replacement(old, [old], [model.graph.new_node("Add", operands, old.outputs)]))


def test_equal_constants_are_shared_and_names_are_fresh() -> None:
    model = view(
        "g (float[2] x) => (float[2] y) <float w = {7}>"
        "{ a = Relu(x)\n b = Relu(a)\n c = Relu(b)\n d = Mul(c, w)\n y = Relu(d) }"
    )
    one, two = np.float32(1), np.float32(2)
    add_constant(model, "a", np.array(one), "w")
    add_constant(model, "b", np.array(one), "other")
    add_constant(model, "c", np.array(two), "w")
    add_constant(model, "y", np.array([1, 1], np.float32), "w")
    assert [value.name for value in model.graph.made] == ["w_1", "w_2", "w_3"]
    assert lines(model)[1] == "b = Add(a, w_1)"
    proto = written(model)
    assert outputs(proto, {"x": np.zeros(2, np.float32)})[0].tolist() == [29, 29]


def test_the_bits_of_a_constant_count() -> None:
    graph = view(RELU).graph
    zero = graph.new_constant(np.array(0.0, np.float32), "z")
    assert graph.new_constant(np.array(-0.0, np.float32), "z") is not zero
    assert graph.new_constant(np.array([0.0], np.float32), "z") is not zero
    assert graph.new_constant(np.array(0, np.int32), "z") is not zero
    nan = graph.new_constant(np.array(np.nan, np.float32), "n")
    assert graph.new_constant(np.array(np.nan, np.float32), "n") is nan


def test_a_constant_that_was_not_committed_leaves_no_trace() -> None:
    model = view(RELU)
    before = fingerprint(model)
    constant = model.graph.new_constant(np.array(1, np.int32), "w")
    old = node_of(model, "a")
    wrong = model.graph.new_node("Add", [old.inputs[0], constant], old.outputs)
    with pytest.raises(Refused):
        commit(Replacement(old, [old], [wrong]))
    assert fingerprint(model) == before
    add_constant(model, "a", np.array(2, np.float32), "w")
    assert [value.name for value in model.graph.made] == ["w"]


# ---- forwarding --------------------------------------------------------------------------------


def forward(model: Model, old: str, new: str) -> Replacement:
    """Drop the node that makes `old`; `new` stands for it."""
    node = node_of(model, old)
    values = model.graph.values
    return Replacement(node, [node], forward=[(values[old], values[new])])


def test_uses_go_to_the_other_value() -> None:
    text = """
    g (float[2] x) => (float[2] y) {
        a = Neg(x)
        b = Identity(a)
        c = Add(b, b)
        y = Mul(b, c)
    }"""
    model = view(text)
    commit(forward(model, "b", "a"))
    check_invariants(model)
    assert lines(model) == ["a = Neg(x)", "c = Add(a, a)", "y = Mul(a, c)"]
    assert outputs(written(model), {"x": np.array([1, 2], np.float32)})[0].tolist() == [2, 8]


def test_a_graph_output_takes_the_place_of_the_value_that_stands_for_it() -> None:
    model = view("g (float[2] x) => (float[2] y) { a = Neg(x)\n b = Relu(a)\n y = Identity(b) }")
    change = commit(forward(model, "y", "b"))
    assert lines(model) == ["a = Neg(x)", "y = Relu(a)"]
    check_invariants(model)
    before = lines(model)
    change.undo()
    check_invariants(model)
    commit(forward(model, "y", "b"))
    assert lines(model) == before
    written(model)


def test_other_users_of_that_value_read_the_output() -> None:
    model = view(
        "g (float[2] x) => (float[2] y, float[2] z) { a = Neg(x)\n y = Identity(a)\n z = Relu(a) }"
    )
    commit(forward(model, "y", "a"))
    assert lines(model) == ["y = Neg(x)", "z = Relu(y)"]
    check_invariants(model)
    written(model)


@pytest.mark.parametrize("source", ["x", "z"])
def test_where_no_node_can_make_the_output_an_identity_does(source: str) -> None:
    # x is a graph input, z a graph output itself.
    text = f"""
    g (float[2] x) => (float[2] y, float[2] z) {{
        z = Relu(x)
        [c] y = Cast <to = 1> ({source})
    }}"""
    model = view(text)
    commit(forward(model, "y", source), "p/drop")
    check_invariants(model)
    assert lines(model)[1] == f"y = Identity({source})"
    assert node_of(model, "y").name == "c"
    written(model)
    assert refusal(model, forward(model, "y", source)) == (
        "'y' is a graph output and needs the node that makes it"
    )


def test_two_outputs_forwarded_to_one_value() -> None:
    text = """
    g (float[2] x) => (float[1] y, float[1] z) { a = Neg(x)\n y, z = Split <axis = 0> (a) }"""
    model = view(text, opset=13)
    node, values = node_of(model, "y"), model.graph.values
    pairs = [(values["y"], values["a"]), (values["z"], values["a"])]
    commit(Replacement(node, [node], forward=pairs))
    check_invariants(model)
    assert lines(model) == ["y = Neg(x)", "z = Identity(y)"]


def test_a_constant_that_stands_for_a_graph_output_keeps_a_node() -> None:
    model = view("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Neg(w) }")
    node = node_of(model, "y")
    constant = model.graph.new_constant(np.array([-1, -2], np.float32), "y_value")
    commit(Replacement(node, [node], forward=[(model.graph.values["y"], constant)]))
    assert lines(model) == ["y = Identity(y_value)"]
    assert outputs(written(model), {"x": np.zeros(2, np.float32)})[0].tolist() == [-1, -2]


def test_a_forwarded_type_must_agree() -> None:
    text = "g (float[2] x) => (int32[2] y) { a = Neg(x)\n b = Cast <to = 6> (a)\n y = Abs(b) }"
    model = view(text)
    assert refusal(model, forward(model, "b", "a")) == (
        "the element type of 'b' would change from i32 to f32"
    )


def test_a_value_that_comes_too_late_is_refused() -> None:
    text = """
    g (float[2] x) => (float[2] y) {
        a = Neg(x)
        [r] b = Relu(a)
        c = Abs(b)
        y = Add(c, b)
    }"""
    model = view(text)
    assert refusal(model, forward(model, "a", "c")) == (
        "node 'r' (Relu) would stand before its operand"
    )


CAPTURE = """
g (bool c, float[2] x) => (float[2] y) {
    n = Neg(x)
    a = Identity(n)
    y = If (c) <
        then_branch = t () => (float[2] p) {
            p = If (c) <
                then_branch = tt () => (float[2] r) { r = Add(a, a) },
                else_branch = te () => (float[2] r) { r = Mul(a, n) }
            >
        },
        else_branch = e () => (float[2] p) { p = Sub(a, x) }
    >
}"""


def test_captures_are_renamed_at_any_depth() -> None:
    model = view(CAPTURE)
    before = fingerprint(model)
    commit(forward(model, "a", "n")).undo()
    assert fingerprint(model) == before
    check_invariants(model)
    commit(forward(model, "a", "n"))
    check_invariants(model)
    inner = model.graphs[3]
    assert [value.name for value in inner.nodes[0].inputs if value] == ["n", "n"]
    assert model.graph.values["n"].uses == {node_of(model, "y"): 2}
    assert not model.graph.values["a"].uses
    proto = written(model)
    for condition, expected in ((True, [-2.0, -4.0]), (False, [-2.0, -4.0])):
        feed = {"c": np.array(condition), "x": np.array([1, 2], np.float32)}
        assert outputs(proto, feed)[0].tolist() == expected


def test_a_captured_value_may_become_a_constant() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] y) {
        a = Constant <value = float[2] {1, 2}> ()
        y = If (c) <
            then_branch = t () => (float[2] p) { p = Add(a, x) },
            else_branch = e () => (float[2] p) { p = Sub(a, x) }
        >
    }"""
    model = view(text)
    node = node_of(model, "a")
    constant = model.graph.new_constant(np.array([1, 2], np.float32), "a_value")
    commit(Replacement(node, [node], forward=[(model.graph.values["a"], constant)]))
    check_invariants(model)
    inside = model.graphs[1].values["a_value"]
    assert inside.constant and inside.array().tolist() == [1, 2]
    feed = {"c": np.array(True), "x": np.zeros(2, np.float32)}
    assert outputs(written(model), feed)[0].tolist() == [1, 2]


def test_a_name_that_a_body_uses_for_something_else_is_refused() -> None:
    # 'n' is shadowed in one body: to rename the capture there would change its meaning.
    text = CAPTURE.replace("{ p = Sub(a, x) }", "{ n = Exp(x)\n p = Sub(a, n) }")
    model = view(text)
    assert "another value called 'n'" in refusal(model, forward(model, "a", "n"))


def test_a_body_output_that_is_captured_is_refused() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] y) {
        n = Neg(x)
        a = Identity(n)
        y = If (c) <
            then_branch = t () => (float[2] a) {},
            else_branch = e () => (float[2] p) { p = Relu(x) }
        >
    }"""
    model = view(text)
    assert refusal(model, forward(model, "a", "n")) == "'a' is captured as the output of a body"


def test_the_output_of_a_body_gets_a_node_of_that_body() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] y) {
        n = Neg(x)
        y = If (c) <
            then_branch = t () => (float[2] p) { [k] p = Cast <to = 1> (n) },
            else_branch = e () => (float[2] q) { r = Relu(n)\n q = Cast <to = 1> (r) }
        >
    }"""
    model = view(text)
    for body in model.graphs[1:]:
        node = body.outputs[0].producer
        assert node is not None and node.inputs[0] is not None
        commit(Replacement(node, [node], forward=[(body.outputs[0], node.inputs[0])]))
    check_invariants(model)
    first, second = ([node.op for node in body.nodes] for body in model.graphs[1:])
    assert (first, second) == (["Identity"], ["Relu"])
    written(model)


# ---- bodies ------------------------------------------------------------------------------------


def test_a_dead_if_takes_its_bodies_and_captures_along() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] z) {
        n = Neg(x)
        y = If (c) <
            then_branch = t () => (float[2] p) { p = Abs(n) },
            else_branch = e () => (float[2] p) { p = Relu(n) }
        >
        m = Mul(y, x)
        z = Add(x, x)
    }"""
    model = view(text)
    before = fingerprint(model)
    body_nodes: list[Node] = [node for body in model.graphs[1:] for node in body.nodes]
    old = node_of(model, "m")
    values = model.graph.values
    replacement = Replacement(
        old, [old], [model.graph.new_node("Exp", [values["x"]], [values["m"]])]
    )
    change = commit(replacement)
    assert lines(model) == ["m = Exp(x)", "z = Add(x, x)"]
    assert not any(node.alive for node in body_nodes)
    check_invariants(model)
    change.undo()
    assert all(node.alive for node in body_nodes)
    assert fingerprint(model) == before
    check_invariants(model)


def test_an_operand_of_another_graph_is_refused() -> None:
    model = view(CAPTURE)
    body = model.graphs[2]
    old = body.nodes[0]
    new = body.new_node("Neg", [model.graph.values["n"]], old.outputs)
    assert refusal(model, Replacement(old, [old], [new])) == "operand 'n' belongs to another graph"


def test_a_rewrite_in_a_body_may_make_an_outer_node_dead() -> None:
    model = view(CAPTURE.replace("Sub(a, x)", "Sub(x, x)").replace("Mul(a, n)", "Mul(n, n)"))
    body = model.graphs[3]
    old = body.nodes[0]
    new = body.new_node(
        "Constant", [], old.outputs, {"value": encode("value", np.ones(2, np.float32))}
    )
    change = commit(Replacement(old, [old], [new]))
    assert "a = Identity(n)" not in lines(model)
    check_invariants(model)
    written(model)
    del change


def test_no_new_initializers_in_bodies_below_ir_version_4() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <
            then_branch = t () => (float[2] p) { p = Abs(x) },
            else_branch = e () => (float[2] p) { p = Relu(x) }
        >
    }"""
    model = view(text, ir_version=3, opset=10)
    with pytest.raises(Refused, match="below IR version 4"):
        model.graphs[1].new_constant(np.ones(2, np.float32), "w")
    model.graph.new_constant(np.ones(2, np.float32), "w")


# ---- retyping ----------------------------------------------------------------------------------

INT8 = """
g (float[2] x) => (float[2] y) <float s = {1}, int8 z = {0}, int64[1] shape = {2}> {
    q = QuantizeLinear(x, s, z)
    r = Reshape(q, shape)
    y = DequantizeLinear(r, s, z)
}"""


def recode(model: Model, values: list[str]) -> Replacement:
    """Quantize to uint8 in place of int8: Q and DQ get a zero point of 128."""
    graph = model.graph
    zero = graph.new_constant(np.array(128, np.uint8), "z_u8")
    quantize, dequantize = node_of(model, "q"), node_of(model, "y")
    nodes = [
        graph.new_node(node.op, [*node.inputs[:2], zero], node.outputs)
        for node in (quantize, dequantize)
    ]
    retype = [(graph.values[name], int(TensorProto.UINT8)) for name in values]
    return Replacement(quantize, [quantize, dequantize], nodes, retype=retype)


def test_a_connected_set_changes_its_type_at_once() -> None:
    model = view(INT8)
    feed = {"x": np.array([-200, 100], np.float32)}
    expected = outputs(parse(INT8), feed)[0].tolist()
    commit(recode(model, ["q", "r"]))
    check_invariants(model)
    assert [node.op for node in model.graph.nodes] == [
        "QuantizeLinear",
        "Reshape",
        "DequantizeLinear",
    ]
    assert outputs(written(model), feed)[0].tolist() == expected


@pytest.mark.parametrize("values", [["r"], []])
def test_a_set_that_is_not_whole_is_refused(values: list[str]) -> None:
    model = view(INT8)
    reason = refusal(model, recode(model, values))
    assert "the element type of" in reason or "must be" in reason


def test_graph_outputs_keep_their_type() -> None:
    model = view(INT8.replace("(float[2] y)", "(float[2] y, int8[2] r)"))
    assert (
        refusal(model, recode(model, ["q", "r"]))
        == "'r' is a graph input or output and keeps its type"
    )


def test_a_model_that_is_not_changed_goes_out_as_it_came() -> None:
    proto = parse(CONV)
    model = build(proto)
    before = proto.SerializeToString(deterministic=True)
    commit(fuse_conv(model)).undo()
    assert to_proto(model).SerializeToString(deterministic=True) == before
