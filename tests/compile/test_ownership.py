"""Which nodes a match may remove: roots, owned nodes, borrowed nodes; graph outputs and bodies."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from ..rules.graphs import Builder, Grid
from .harness import check

FUSE = """
rule fuse "The grid of a quantized Neg between DQ and Q moves to an integer op" {
    y = Q(Abs(Neg(DQ(x))))
    where x.type == u8, per_tensor(x), same_grid(x, y)
 => y = Q(Abs(DQ(x)))
    exact
}
"""
G = Grid("u8", 0.5, 0)


def graph(b: Builder, **names: str) -> tuple[str, str, str]:
    """x -> DQ -> Neg -> Abs -> Q -> y; the inner values get these names."""
    d = b.dq(b.input("x", "u8", (4,)), G, names.get("d", ""))
    n = b.node("Neg", [d], names.get("n", ""))
    a = b.node("Abs", [n], names.get("a", ""))
    b.q(a, G, b.output("y", "u8"))
    return d, n, a


def test_the_plain_case() -> None:
    b = Builder()
    graph(b)
    assert check(FUSE, b.model(), {"fuse": 1}).count("Neg") == 0


@pytest.mark.parametrize("value", [1, 2])
def test_an_owned_value_with_another_consumer_stays(value: int) -> None:
    b = Builder()
    values = graph(b)
    b.node("Sqrt", [values[value]], b.output("z", "f32"))
    check(FUSE, b.model(), {})


@pytest.mark.parametrize("name", ["n", "a"])
def test_an_owned_value_that_is_a_graph_output_stays(name: str) -> None:
    b = Builder()
    graph(b, **{name: name})
    b.output(name, "f32")
    check(FUSE, b.model(), {})


def test_a_borrowed_value_may_be_used_elsewhere_and_be_an_output() -> None:
    b = Builder()
    d, _, _ = graph(b, d="d")
    b.output("d", "f32")
    b.node("Sqrt", [d], b.output("z", "f32"))
    result = check(FUSE, b.model(), {"fuse": 1})
    assert result.count("DequantizeLinear") >= 1


def test_a_root_may_have_many_consumers_and_be_an_output() -> None:
    b = Builder()
    graph(b)
    for name in ("p", "q"):
        b.node("Abs", [b.dq("y", G)], b.output(name, "f32"))
    check(FUSE, b.model(), {"fuse": 1})


def body(name: str, captured: str) -> helper.GraphProto:
    out = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, (4,))
    return helper.make_graph(
        [helper.make_node("Sqrt", [captured], [f"{name}_out"])], name, [], [out]
    )


@pytest.mark.parametrize(("captured", "fires"), [(0, True), (1, False), (2, False)])
def test_a_value_captured_by_a_body_counts_as_used(captured: int, fires: bool) -> None:
    b = Builder()
    values = graph(b)
    branches = {f"{way}_branch": body(way, values[captured]) for way in ("then", "else")}
    b.node("If", [b.constant(True, "bool")], b.output("z", "f32"), **branches)
    check(FUSE, b.model(), {"fuse": 1} if fires else {})


def test_nodes_of_a_body_match_but_not_across_its_border() -> None:
    """The DQ lies outside: the body sees only its result."""
    inside = Builder()
    graph(inside)
    model = inside.model()
    nodes, initializers = list(model.graph.node), list(model.graph.initializer)
    out = helper.make_tensor_value_info("y", TensorProto.UINT8, (4,))
    whole = helper.make_graph(nodes, "then", [], [out], initializers)
    apart = helper.make_graph(nodes[1:], "else", [], [out], initializers)
    b = Builder()
    b.input("x", "u8", (4,))
    for node, tensor in ((nodes[0], initializers[:2]),):
        b.nodes.append(node)
        b.initializers += tensor
    whole.node[0].output[0] = whole.node[1].input[0] = "inner"
    apart.node[0].name = apart.node[1].name = apart.node[2].name = ""
    for graph_proto in (whole, apart):
        del graph_proto.initializer[:2]
    for node in whole.node:
        node.name += "_then"
    b.node(
        "If", [b.constant(True, "bool")], b.output("r", "u8"), then_branch=whole, else_branch=apart
    )
    result = check(FUSE, b.model(), {"fuse": 1})
    assert result.count("Neg") == 1


def test_an_input_that_overrides_an_initializer_is_no_constant() -> None:
    rule = """
    rule fold "A product with a constant" {
        y = Mul(x, c)
        where is_const(c), c == 1
     => y = x
        exact
    }
    """
    for overridable in (False, True):
        b = Builder()
        x = b.node("Abs", [b.input("x", "f32", (2,))])
        b.node("Mul", [x, b.constant(1.0, "f32", "c")], b.output("y", "f32"))
        if overridable:
            b.input("c", "f32", ())
        check(rule, b.model(), {} if overridable else {"fold": 1})
