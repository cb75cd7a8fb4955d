"""The fixpoint: order, phases, `then`, filters, cycles, bodies, and cost."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from python_rules import (
    PythonPhase,
    PythonRule,
    calls_made,
    lines,
    only_user,
    outputs,
    parse,
    phase,
    producer,
    view,
    written,
)

from qrewrite.engine.edits.invariants import fingerprint
from qrewrite.engine.errors import CycleError, InvariantError, Refused, RuleError
from qrewrite.engine.graph import Graph, Node
from qrewrite.engine.io.build import build
from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.protocols import Replacement
from qrewrite.engine.run.fixpoint import run
from qrewrite.engine.run.outcome import Applied


def rename(op: str, new: str, **options: object) -> PythonRule:
    """Every `op` becomes a `new`."""
    name = f"{op.lower()}_to_{new.lower()}"
    return PythonRule(
        name,
        (op,),
        lambda node: (node,),
        lambda graph, node: Replacement(
            node, [node], [graph.new_node(new, node.inputs, node.outputs)]
        ),
        **options,  # type: ignore[arg-type]  # fields of the rule
    )


def drop_pair(op: str) -> PythonRule:
    """op(op(x)) becomes x, where the inner one is used by the outer alone."""

    def match(node: Node) -> tuple[object, ...] | None:
        inner = producer(node.inputs[0], op)
        return (node, inner) if inner is not None and only_user(inner.outputs[0]) is node else None

    def build_it(graph: Graph, node: Node, inner: Node) -> Replacement:
        return Replacement(node, [node, inner], forward=[(node.outputs[0], inner.inputs[0])])

    return PythonRule(f"drop_pair_of_{op.lower()}", (op,), match, build_it)


DROP_IDENTITY = PythonRule(
    "drop_identity",
    ("Identity",),
    lambda node: (node,),
    lambda graph, node: Replacement(node, [node], forward=[(node.outputs[0], node.inputs[0])]),
)


def chain(ops: list[str]) -> onnx.ModelProto:
    names = ["x", *(f"v{i}" for i in range(1, len(ops))), "y"]
    nodes = [
        helper.make_node(op, [before], [after], name=f"n{i}")
        for i, (op, (before, after)) in enumerate(zip(ops, pairwise(names), strict=True))
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def ops(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def test_the_outcome_lists_what_was_applied() -> None:
    model = view("g (float[2] x) => (float[2] y) { [r] a = Relu(x)\n y = Relu(a) }")
    outcome = run(model, phase(rename("Relu", "Abs")))
    assert outcome.applied == [
        Applied("relu_to_abs", "test", "r", "Relu", ("a",)),
        Applied("relu_to_abs", "test", "", "Relu", ("y",)),
    ]
    assert outcome.refused == {}
    assert [node.rule for node in model.graph.nodes] == ["test/relu_to_abs"] * 2


def test_pairs_inside_pairs_are_found_after_the_inner_ones_are_gone() -> None:
    model = build(chain(["Neg", "Abs", "Abs", "Neg"] * 3))
    rules = phase(drop_pair("Neg"), drop_pair("Abs"))
    outcome = run(model, rules, checked=True)
    assert len(outcome.applied) == 6
    assert lines(model) == ["y = Identity(x)"]
    written(model)


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_visits_does_not_matter_here(seed: int) -> None:
    model = build(chain(["Relu", "Neg", "Identity", "Neg", "Abs", "Identity", "Exp"]))
    run(model, phase(drop_pair("Neg"), DROP_IDENTITY), seed=seed, checked=True)
    assert ops(to_proto(model)) == ["Relu", "Abs", "Exp"]


def test_a_second_run_changes_nothing() -> None:
    model = build(chain(["Relu", "Neg", "Neg", "Abs", "Identity"]))
    rules = phase(drop_pair("Neg"), DROP_IDENTITY)
    run(model, rules)
    once = written(model)
    again = build(once)
    assert run(again, rules).applied == []
    assert to_proto(again).SerializeToString(deterministic=True) == once.SerializeToString(
        deterministic=True
    )


def test_phases_run_in_order_and_again_while_something_changes() -> None:
    # The second phase makes work for the first one.
    phases = [
        PythonPhase("first", [rename("Relu", "Abs"), drop_pair("Neg")]),
        PythonPhase("second", [rename("Exp", "Relu")]),
    ]
    model = build(chain(["Exp", "Relu", "Neg", "Neg"]))
    outcome = run(model, phases, checked=True)
    assert [entry.rule for entry in outcome.applied] == [
        "relu_to_abs",
        "drop_pair_of_neg",
        "exp_to_relu",
        "relu_to_abs",
    ]
    assert lines(model) == ["v1 = Abs(x)", "y = Abs(v1)"]


def test_the_first_rule_of_a_phase_goes_first() -> None:
    model = build(chain(["Relu"]))
    run(model, phase(rename("Relu", "Abs"), replace(rename("Relu", "Neg"), name="late")))
    assert ops(to_proto(model)) == ["Abs"]


def test_a_refused_match_leaves_the_next_rule_its_chance() -> None:
    model = build(chain(["Relu"]))
    wrong = rename("Relu", "Shape")
    outcome = run(model, phase(wrong, rename("Relu", "Abs")), checked=True)
    assert ops(to_proto(model)) == ["Abs"]
    reason = "the element type of 'y' would change from f32 to i64"
    assert outcome.refused == {("test/relu_to_shape", reason): 1}


def test_a_rule_may_refuse_or_decline() -> None:
    def refuse(graph: Graph, node: Node) -> Replacement:
        raise Refused("not today")

    model = build(chain(["Relu"]))
    rule = PythonRule("no", ("Relu",), lambda node: (node,), refuse)
    declines = PythonRule("none", ("Relu",), lambda node: (node,), lambda graph, node: None)
    outcome = run(model, phase(rule, declines), checked=True)
    assert outcome.applied == []
    assert outcome.refused == {("test/no", "not today"): 1}


def test_an_error_inside_a_rule_names_rule_and_node() -> None:
    def fail(graph: Graph, node: Node) -> Replacement:
        raise ZeroDivisionError("division by zero")

    model = build(chain(["Neg", "Relu"]))
    rule = PythonRule("bad", ("Relu",), lambda node: (node,), fail)
    with pytest.raises(RuleError, match=r"rule test/bad failed at node 'n1' \(Relu\): division"):
        run(model, phase(rule))


def test_an_error_inside_a_matcher_names_the_node() -> None:
    rule = PythonRule("bad", ("Relu",), lambda node: (1 // 0,), lambda graph, node: None)
    with pytest.raises(RuleError, match=r"node 'n0' \(Relu\)"):
        run(build(chain(["Relu"])), phase(rule))


def test_a_filter_by_rule_and_node() -> None:
    model = build(chain(["Relu", "Relu", "Relu"]))
    rule = rename("Relu", "Abs")
    run(model, phase(rule), filter=lambda rule, node: node.name != "n1")
    assert ops(to_proto(model)) == ["Abs", "Relu", "Abs"]


def test_options_reach_the_rules() -> None:
    seen: list[object] = []

    class Curious(PythonRule):
        def rewrite(self, bindings: tuple[object, ...], context: object) -> None:
            seen.append(context.options["target"])  # type: ignore[attr-defined]  # a Context

    rule = Curious("curious", ("Relu",), lambda node: (node,), lambda graph, node: None)
    run(build(chain(["Relu"])), phase(rule), {"target": "arm"})
    assert seen == ["arm"]


def test_dead_nodes_of_the_model_are_no_obstacle() -> None:
    text = """
    g (float[2] x) => (float[2] y) {
        a = Neg(x)
        y = Neg(a)
        dead = Relu(a)
        deader = Exp(dead)
    }"""
    model = view(text)
    assert len(run(model, phase(drop_pair("Neg")), checked=True).applied) == 1


def test_dead_nodes_stay_if_no_rule_fires() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] y) {
        y = Neg(x)
        dead = If (c) <
            then_branch = t () => (float[2] p) { p = Abs(y) },
            else_branch = e () => (float[2] p) { p = Relu(x)\n q = Neg(p) }
        >
        deader = Exp(dead)
    }"""
    proto = parse(text)
    before = proto.SerializeToString(deterministic=True)
    model = build(proto)
    links = fingerprint(model)
    run(model, phase(drop_pair("Neg")))
    assert fingerprint(model) == links
    assert to_proto(model).SerializeToString(deterministic=True) == before


# ---- then --------------------------------------------------------------------------------------


def test_then_undoes_a_rewrite_that_leads_nowhere() -> None:
    first = rename("Relu", "Abs", then=("abs_to_neg",))
    model = build(chain(["Relu", "Exp"]))
    outcome = run(model, phase(first), checked=True)
    assert outcome.applied == []
    assert outcome.refused == {
        ("test/relu_to_abs", "none of abs_to_neg would apply to the result"): 1
    }
    assert ops(to_proto(model)) == ["Relu", "Exp"]


def test_then_lets_a_rewrite_stand_that_leads_on() -> None:
    first = rename("Relu", "Abs", then=("nothing", "abs_to_neg"))
    phases = [PythonPhase("one", [first]), PythonPhase("two", [rename("Abs", "Neg")])]
    model = build(chain(["Relu"]))
    outcome = run(model, phases, checked=True)
    assert [entry.rule for entry in outcome.applied] == ["relu_to_abs", "abs_to_neg"]
    assert [node.name for node in model.graph.nodes] == ["n0"]


def test_then_is_followed_along_the_whole_chain() -> None:
    links = [
        rename("Relu", "Abs", then=("abs_to_neg",)),
        rename("Abs", "Neg", then=("neg_to_exp",)),
    ]
    last = rename("Neg", "Exp")
    for rules, expected in (
        (links, []),
        ([*links, last], ["relu_to_abs", "abs_to_neg", "neg_to_exp"]),
    ):
        outcome = run(build(chain(["Relu"])), phase(*rules), checked=True)
        assert [entry.rule for entry in outcome.applied] == expected


def test_a_rule_that_is_filtered_out_does_not_count_for_then() -> None:
    first = rename("Relu", "Abs", then=("abs_to_neg",))
    model = build(chain(["Relu"]))
    rules = phase(first, rename("Abs", "Neg"))
    outcome = run(model, rules, filter=lambda rule, node: rule.name != "abs_to_neg")
    assert outcome.applied == []


def test_then_may_apply_beside_the_new_node() -> None:
    pair = drop_pair("Neg")
    first = rename("Relu", "Neg", then=(pair.name,))
    model = build(chain(["Neg", "Relu", "Exp"]))
    run(model, phase(first, pair), checked=True)
    assert ops(to_proto(model)) == ["Exp"]


def test_names_do_not_show_what_was_only_tried() -> None:
    def split(graph: Graph, node: Node) -> Replacement:
        middle = graph.new_value()
        constant = graph.new_constant(np.ones(2, np.float32), "one")
        nodes = [
            graph.new_node("Add", [node.inputs[0], constant], [middle]),
            graph.new_node("Neg", [middle], node.outputs),
        ]
        return Replacement(node, [node], nodes)

    two = PythonRule("split", ("Abs",), lambda node: (node,), split)
    first = rename("Relu", "Abs", then=("split",))
    model = build(chain(["Relu"]))
    run(model, phase(first, two), checked=True)
    assert [node.name for node in model.graph.nodes] == ["n0_add", "n0"]
    assert lines(model) == ["n0_add_output = Add(x, one)", "y = Neg(n0_add_output)"]
    written(model)


# ---- cycles ------------------------------------------------------------------------------------


def test_rules_that_feed_each_other_are_named() -> None:
    rules = phase(
        rename("Exp", "Sin"), rename("Relu", "Abs"), rename("Abs", "Neg"), rename("Neg", "Relu")
    )
    with pytest.raises(CycleError) as caught:
        run(build(chain(["Exp", "Relu"])), rules)
    message = str(caught.value)
    assert "rules test/abs_to_neg, test/neg_to_relu and test/relu_to_abs feed each other" in message
    assert "exp_to_sin" not in message


def test_a_rule_that_feeds_itself_is_named() -> None:
    with pytest.raises(CycleError, match="rule test/relu_to_relu feeds itself without end"):
        run(build(chain(["Relu"])), phase(rename("Relu", "Relu")))


def test_a_rule_that_grows_the_graph_without_end_is_stopped() -> None:
    def grow(graph: Graph, node: Node) -> Replacement:
        middle = graph.new_value()
        nodes = [
            graph.new_node("Relu", node.inputs, [middle]),
            graph.new_node("Relu", [middle], node.outputs),
        ]
        return Replacement(node, [node], nodes)

    rule = PythonRule("grow", ("Relu",), lambda node: (node,), grow, expands=True)
    with pytest.raises(CycleError, match="test/grow feeds itself"):
        run(build(chain(["Relu"])), phase(rule))


def test_then_that_leads_in_a_circle_is_an_error() -> None:
    rules = phase(
        rename("Relu", "Abs", then=("abs_to_relu",)), rename("Abs", "Relu", then=("relu_to_abs",))
    )
    with pytest.raises(CycleError, match="'then' of rule test/"):
        run(build(chain(["Relu"])), rules)


# ---- checked mode ------------------------------------------------------------------------------


def test_checked_mode_finds_a_rule_that_edits_behind_the_engines_back() -> None:
    def sly(graph: Graph, node: Node) -> None:
        node.name = "edited"

    rule = PythonRule("sly", ("Relu",), lambda node: (node,), sly)
    with pytest.raises(InvariantError, match=r"test/sly was not applied .* yet the graph changed"):
        run(build(chain(["Relu"])), phase(rule), checked=True)


# ---- bodies ------------------------------------------------------------------------------------

BODIES = """
g (bool c, float[2] x) => (float[2] y) {
    n = Neg(x)
    m = Neg(n)
    y = If (c) <
        then_branch = t () => (float[2] p) { q = Neg(m)\n r = Neg(q)\n p = Abs(r) },
        else_branch = e () => (float[2] p) { p = Relu(m) }
    >
}"""


def test_bodies_are_rewritten_and_matches_stay_inside_a_graph() -> None:
    model = view(BODIES)
    outcome = run(model, phase(drop_pair("Neg"), rename("Relu", "Abs")), checked=True)
    # Neg(m) in the body and Neg(n) outside are no pair.
    assert [entry.outputs for entry in outcome.applied] == [("m",), ("r",), ("p",)]
    assert lines(model) == ["y = If(c)"]
    proto = written(model)
    feed = {"c": np.array(True), "x": np.array([-1, 2], np.float32)}
    assert outputs(proto, feed)[0].tolist() == outputs(parse(BODIES), feed)[0].tolist()


# ---- cost --------------------------------------------------------------------------------------


def calls(proto: onnx.ModelProto, rules: list[PythonPhase], count: int) -> int:
    model = build(proto)
    made, outcome = calls_made(lambda: run(model, rules))
    assert len(outcome.applied) == count
    return made


def test_work_is_linear_in_a_chain_that_collapses() -> None:
    rules = phase(drop_pair("Neg"), DROP_IDENTITY)

    def collapse(size: int) -> int:
        ops = ["Abs", *["Neg"] * size, *["Identity"] * size, "Abs"]
        return calls(chain(ops), rules, size // 2 + size)

    assert collapse(3_000) < 12 * collapse(300)


def test_work_is_linear_in_the_users_of_one_value() -> None:
    def fan(size: int) -> int:
        nodes = [helper.make_node("Neg", ["x"], ["a"])]
        nodes += [helper.make_node("Relu", ["a"], [f"r{i}"]) for i in range(size)]
        nodes += [helper.make_node("Sum", [f"r{i}" for i in range(size)], ["y"])]
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
        graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        return calls(proto, phase(rename("Relu", "Abs")), size)

    assert fan(3_000) < 12 * fan(300)


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    model = build(chain(["Relu"] * 5000))
    run(model, phase(rename("Relu", "Abs")), progress=lambda *entry: told.append(entry))
    assert told[0][0] == "phase"
    assert [entry[1] for entry in told[:2]] == [2048, 4096]


def test_captured_users_are_visited_again() -> None:
    """A body's node that reads an outer value is looked at again when that value changes."""
    special = PythonRule(
        "beside_constant",
        ("Relu",),
        lambda node: (node,) if node.inputs[0] is not None and node.inputs[0].constant else None,
        lambda graph, node: Replacement(
            node, [node], [graph.new_node("Abs", node.inputs, node.outputs)]
        ),
    )

    def fold(graph: Graph, node: Node) -> Replacement:
        constant = graph.new_constant(np.array([1, 2], np.float32), "folded")
        return Replacement(node, [node], forward=[(node.outputs[0], constant)])

    folding = PythonRule("fold", ("Neg",), lambda node: (node,), fold)
    text = """
    g (bool c, float[2] x) => (float[2] y) {
        n = Neg(x)
        y = If (c) <
            then_branch = t () => (float[2] p) { p = Relu(n) },
            else_branch = e () => (float[2] p) { p = Relu(n) }
        >
    }"""
    model = view(text)
    outcome = run(model, phase(special, folding), checked=True)
    assert [entry.rule for entry in outcome.applied] == ["fold", *["beside_constant"] * 2]
    written(model)
