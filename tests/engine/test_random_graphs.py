"""Random graphs under random orders: rewrites keep the numbers, the view stays consistent."""

from __future__ import annotations

import random

import numpy as np
import onnx
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from python_rules import PythonRule, outputs, phase, producer, written

from qrewrite.engine.edits.invariants import check_invariants, fingerprint
from qrewrite.engine.edits.replace import commit
from qrewrite.engine.graph import Graph, Node, Value, consumers
from qrewrite.engine.io.build import build
from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.protocols import Replacement
from qrewrite.engine.run.fixpoint import run

UNARY = ("Neg", "Abs", "Identity", "Relu")
BINARY = ("Add", "Sub", "Max")


def info(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])


def nodes_over(
    draw: st.DrawFn, names: list[str], prefix: str, depth: int, count: int
) -> list[onnx.NodeProto]:
    """Nodes that read `names` and each other; appends the names that they make."""
    nodes: list[onnx.NodeProto] = []
    for i in range(count):
        made = f"{prefix}{i}"
        kind = draw(st.sampled_from((*UNARY, *UNARY, *BINARY, *(("If",) if depth else ()))))
        if kind == "If":
            bodies = [
                body_over(draw, names, f"{made}_{branch}", depth - 1) for branch in ("t", "e")
            ]
            node = helper.make_node(
                "If", ["c"], [made], then_branch=bodies[0], else_branch=bodies[1]
            )
        else:
            arity = 1 if kind in UNARY else 2
            node = helper.make_node(
                kind, [draw(st.sampled_from(names)) for _ in range(arity)], [made]
            )
        node.name = draw(st.sampled_from(("", "same", f"node_{made}")))
        nodes.append(node)
        names.append(made)
    return nodes


def body_over(draw: st.DrawFn, names: list[str], prefix: str, depth: int) -> onnx.GraphProto:
    inner = list(names)
    nodes = nodes_over(draw, inner, prefix, depth, draw(st.integers(1, 4)))
    return helper.make_graph(nodes, prefix, [], [info(inner[-1])])


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    names = ["x", "z"]
    nodes = nodes_over(draw, names, "v", 2, draw(st.integers(1, 14)))
    chosen = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=3, unique=True))
    inputs = [info("x"), info("z"), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, [info(name) for name in chosen])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])


# ---- rules, each of them exact -----------------------------------------------------------------


def over(name: str, op: str, inner: str, keep_outer: bool) -> PythonRule:
    """op(inner(x)) is x, or op(x); the inner node is borrowed."""

    def match(node: Node) -> tuple[object, ...] | None:
        found = producer(node.inputs[0], inner)
        return (node, found.inputs[0]) if found is not None else None

    def build_it(graph: Graph, node: Node, operand: Value) -> Replacement:
        if keep_outer:
            return Replacement(node, [node], [graph.new_node(op, [operand], node.outputs)])
        return Replacement(node, [node], forward=[(node.outputs[0], operand)])

    return PythonRule(name, (op,), match, build_it)


def subtract(graph: Graph, node: Node) -> Replacement:
    """a + b = a - (-b), with a constant that is multiplied in, to have one."""
    one = graph.new_constant(np.ones(1, np.float32), "one")
    scaled, negated = graph.new_value(), graph.new_value()
    nodes = [
        graph.new_node("Mul", [node.inputs[1], one], [scaled]),
        graph.new_node("Neg", [scaled], [negated]),
        graph.new_node("Sub", [node.inputs[0], negated], node.outputs),
    ]
    return Replacement(node, [node], nodes)


def beside(node: Node) -> tuple[object, ...] | None:
    """Two Relu of one value, the second of which can be dropped."""
    operand = node.inputs[0]
    for other in consumers(operand) if operand is not None else []:
        if other.op == "Relu" and other.order > node.order:
            return node, other
    return None


def merge(graph: Graph, node: Node, other: Node) -> Replacement:
    return Replacement(other, [other], forward=[(other.outputs[0], node.outputs[0])])


RULES = [
    over("drop_neg", "Neg", "Neg", keep_outer=False),
    over("abs_of_neg", "Abs", "Neg", keep_outer=True),
    over("abs_of_abs", "Abs", "Abs", keep_outer=True),
    over("relu_of_relu", "Relu", "Relu", keep_outer=True),
    PythonRule(
        "drop_identity",
        ("Identity",),
        lambda node: (node,),
        lambda graph, node: Replacement(node, [node], forward=[(node.outputs[0], node.inputs[0])]),
    ),
    PythonRule("subtract", ("Add",), lambda node: (node,), subtract, expands=True),
    PythonRule(
        "merge_relu",
        ("Relu",),
        lambda node: pair if (pair := beside(node)) and pair[1].op == "Relu" else None,
        merge,
    ),
    # Never stands: what follows is undone itself, since nothing goes on from it.
    PythonRule(
        "in_vain",
        ("Sub",),
        lambda node: (node,),
        lambda graph, node: Replacement(
            node, [node], [graph.new_node("Max", node.inputs, node.outputs)]
        ),
        then=("in_vain_too",),
    ),
    PythonRule("in_vain_too", ("Max",), lambda node: (node,), subtract, then=("nothing",)),
]


def unnamed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without node names: onnxruntime does not take repeated ones."""
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    waiting = [copy.graph]
    while waiting:
        for node in waiting.pop().node:
            node.name = ""
            waiting.extend(attribute.g for attribute in node.attribute if attribute.HasField("g"))
    return copy


FEEDS = [
    {
        "x": np.array([-1.5, 0.0, 2.25], np.float32),
        "z": np.array([3.0, -0.5, -7.0], np.float32),
        "c": np.array(condition),
    }
    for condition in (True, False)
]


@given(models(), st.integers(0, 3), st.permutations(RULES))
@settings(max_examples=60, deadline=None)
def test_rewrites_keep_the_numbers(
    proto: onnx.ModelProto, seed: int, rules: list[PythonRule]
) -> None:
    expected = [outputs(unnamed(proto), feed) for feed in FEEDS]
    model = build(onnx.ModelProto.FromString(proto.SerializeToString()))
    phases = phase(*rules)
    outcome = run(model, phases, seed=seed, checked=True)
    if not outcome.applied:
        return
    result = written(model)
    for feed, before in zip(FEEDS, expected, strict=True):
        for was, found in zip(before, outputs(result, feed), strict=True):
            # 0.0 - (-0.0) and 0.0 + 0.0 agree in value.
            np.testing.assert_array_equal(found, was)
    assert run(build(result), phases).applied == []


@given(models(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_undo_restores_every_commit_of_a_series(
    proto: onnx.ModelProto, chance: random.Random
) -> None:
    model = build(proto)
    before = to_proto(model).SerializeToString(deterministic=True)
    prints = [fingerprint(model)]
    changes = []
    for _ in range(8):
        nodes = [node for node in model.nodes() if node.op in ("Neg", "Abs", "Relu", "Identity")]
        if not nodes:
            break
        node = chance.choice(nodes)
        output, operand = node.outputs[0], node.inputs[0]
        assert output is not None and operand is not None
        if chance.random() < 0.5:
            replacement = Replacement(node, [node], forward=[(output, operand)])
        else:
            middle = node.graph.new_value()
            new = [
                node.graph.new_node("Exp", [operand], [middle]),
                node.graph.new_node("Ceil", [middle], [output]),
            ]
            replacement = Replacement(node, [node], new)
        if node.op == "Identity" and not replacement.nodes and output.is_output:
            continue
        changes.append(commit(replacement, "test/random"))
        check_invariants(model)
        prints.append(fingerprint(model))
    for change in reversed(changes):
        prints.pop()
        change.undo()
        check_invariants(model)
        assert fingerprint(model) == prints[-1]
    assert to_proto(model).SerializeToString(deterministic=True) == before


@given(models(), st.permutations(RULES))
@settings(max_examples=20, deadline=None)
def test_the_same_model_gives_the_same_bytes(
    proto: onnx.ModelProto, rules: list[PythonRule]
) -> None:
    def bytes_of() -> bytes:
        model = build(onnx.ModelProto.FromString(proto.SerializeToString()))
        run(model, phase(*rules))
        return bytes(to_proto(model).SerializeToString(deterministic=True))

    assert bytes_of() == bytes_of()
