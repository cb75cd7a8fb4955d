"""The slow interpreter and the fast matchers find the same matches, for every rule that ships."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis.strategies import DataObject, data, integers
from onnx import ModelProto
from rules.checks import apply
from rules.graphs import Grid, Product, binary, unary
from rules.test_integer_products import in_operator_form
from rules.test_nbits import COLUMNS, PLAIN

from qrewrite.engine.errors import ModelError
from qrewrite.engine.graph import Model, Node
from qrewrite.engine.io.models import read_model
from qrewrite.engine.protocols import Rule
from qrewrite.explaining import compiled_phases, patterns_of
from qrewrite.loading import load_pack
from qrewrite.patterns import syntax
from qrewrite.patterns.explain.anchored import Anchored, asks_options
from qrewrite.patterns.explain.interpreter import Interpreter
from qrewrite.patterns.program import CompiledRule
from qrewrite.rewriting import Program, Recipe, rewrite_by
from qrewrite.testing.case import Case
from qrewrite.testing.draws import Draw, RandomDraw
from qrewrite.testing.expand_pattern import Unsatisfiable
from qrewrite.testing.generate import matching_case, near_miss

MODELS = Path(__file__).parents[1] / "models"
PACKS = ("onnx", "ort-cpu")
SEEDS, ENOUGH = 30, 6
RULES = sorted({(entry.pack, entry.name) for pack in PACKS for entry in load_pack(pack).rules})
FEW = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=(Phase.generate,),  # models are small, and to make them smaller takes minutes
)


loaded = cache(load_pack)


@cache
def compiled(pack: str, options: tuple[tuple[str, Any], ...] = ()) -> tuple[Program, Interpreter]:
    program = Recipe((loaded(pack),), options=dict(options)).prepare()
    return program, Interpreter(compiled_phases(program.phases)[0].helpers)


def fast_matches(rule: CompiledRule, node: Node) -> set[int]:
    """The variants of a rule that its own matcher offers at a node, by identity."""
    found: set[int] = set()

    def fire(offered: Rule, bindings: tuple[object, ...]) -> bool:
        assert offered is rule
        found.add(id(bindings[0]))
        return False

    rule.matcher()(node, fire)
    return found


def phase_matches(program: Program, node: Node) -> set[int]:
    """The same by the matchers that a run uses, where the steps of many rules are merged."""
    found: set[int] = set()
    for phase in compiled_phases(program.phases):
        matcher = phase.matcher(node.op)
        if matcher is not None:

            def fire(rule: Rule, bindings: tuple[object, ...]) -> bool:
                found.add(id(bindings[0]))
                return False

            matcher(node, fire)
    return found


def slow_matches(rule: CompiledRule, interpreter: Interpreter, node: Node) -> set[int]:
    """The variants whose steps all hold, one that has the steps of an earlier one left out."""
    found: set[int] = set()
    seen: set[object] = set()
    for variant in rule.variants:
        if node.op in variant.ops and variant.found.steps not in seen:
            seen.add(variant.found.steps)
            if interpreter.matches(variant.found.steps, node):
                found.add(id(variant))
    return found


def assert_agree(program: Program, interpreter: Interpreter, view: Model, only: str = "") -> int:
    """At every node of a graph, for every rule or one alone; the number of matches."""
    count = 0
    rules = [
        rule
        for phase in compiled_phases(program.phases)
        for rule in phase.rules
        if only in ("", rule.name)
    ]
    for node in view.nodes():
        by_rules: set[int] = set()
        for rule in rules:
            if node.op in rule.anchors:
                slow = slow_matches(rule, interpreter, node)
                assert fast_matches(rule, node) == slow, (rule.name, node)
                by_rules |= slow
        if not only:
            assert phase_matches(program, node) == by_rules, node
        count += len(by_rules)
    return count


def view_of(program: Program, model: ModelProto) -> Model:
    try:
        return read_model(model, declared=program.schemas)
    except ModelError:
        reject()


def cases(make: Callable[[Draw], Case]) -> Iterator[Case]:
    """A few graphs; skips the test if none can be made, since it has shown nothing then."""
    count = 0
    for seed in range(SEEDS):
        try:
            case = make(RandomDraw(seed))
        except Unsatisfiable:
            continue
        yield case
        count += 1
        if count == ENOUGH:
            return
    if not count:
        pytest.skip("no graph is derived from this rule: see BY_HAND")


@pytest.mark.parametrize(("pack", "name"), RULES)
def test_on_matches(pack: str, name: str) -> None:
    agree_on(pack, name, partial(matching_case, loaded(pack), rule_of(pack, name)))


@pytest.mark.parametrize(("pack", "name"), RULES)
def test_on_near_misses(pack: str, name: str) -> None:
    agree_on(pack, name, partial(near_miss, loaded(pack), rule_of(pack, name)))


def with_row(model: ModelProto) -> ModelProto:
    """A constant row added to the output of a model whose last node is MatMulNBits."""
    *_, product = model.graph.node
    row = onnx.numpy_helper.from_array(np.arange(COLUMNS, dtype=np.float32), "row")
    add = onnx.helper.make_node("Add", ["product", "row"], list(product.output), name="add_row")
    product.output[0] = "product"
    model.graph.node.append(add)
    model.graph.initializer.append(row)
    return model


BY_HAND = {
    "linear_weight_to_uint8": (partial(in_operator_form, "QLinearMatMul", 7), {}),
    "dynamic_weight_to_uint8": (partial(in_operator_form, "DynamicQuantizeMatMul", 7), {}),
    "qgemm_weight_to_uint8": (partial(in_operator_form, "QGemm", 7), {}),
    "nbits_bias": (lambda: with_row(apply(PLAIN.model())), {}),
    "nbits_to_int8": (lambda: apply(PLAIN.model()), {"accuracy_level": 4}),
}
"""Graphs for the rules on models in operator form, which no graph is derived from."""


@pytest.mark.parametrize("name", BY_HAND)
def test_on_graphs_made_by_hand(name: str) -> None:
    make, options = BY_HAND[name]
    program, interpreter = compiled("ort-cpu", tuple(options.items()))
    view = read_model(make(), declared=program.schemas)
    assert assert_agree(program, interpreter, view, name) >= 1


def rule_of(pack: str, name: str) -> syntax.Rule:
    entry = loaded(pack).rule(name)
    assert entry is not None
    return entry.rule


def agree_on(pack: str, name: str, make: Callable[[Draw], Case]) -> None:
    for case in cases(make):
        program, interpreter = compiled(pack, tuple(sorted(case.options.items())))
        try:
            view = read_model(case.model, declared=program.schemas)
        except ModelError:
            continue
        assert_agree(program, interpreter, view, name)


@pytest.mark.parametrize("pack", PACKS)
@given(seed=integers(0, 2**16), data=data())
@FEW
def test_on_small_graphs(pack: str, seed: int, data: DataObject) -> None:
    ops = ("Add", "Mul", "Sub", "Max", "MatMul")
    kinds = [data.draw(integers(0, 2)) for _ in range(3)]
    grids = [Grid(("u8", "i8", "u16")[kind], 0.01 * (1 + seed % 7), kind) for kind in kinds]
    op = ops[seed % len(ops)]
    models = [
        binary(op, *grids, shapes=((4, 4), (4, 4))),
        unary("Relu", grids[0], grids[1]),
        Product(seed=seed, peak=40 + seed % 80, bias=("i32", "f32", None)[seed % 3]).model(),
    ]
    program, interpreter = compiled(pack)
    for model in models:
        for each in (model, rewrite_by(program, model).model):
            assert_agree(program, interpreter, view_of(program, each))


@pytest.mark.parametrize("name", ["fq_cnn.onnx", "tp_tract_qlstm.onnx"])
def test_on_real_models(name: str) -> None:
    program, interpreter = compiled("ort-cpu")
    model = onnx.load(MODELS / name)
    for each in (model, rewrite_by(program, model).model):
        assert_agree(program, interpreter, view_of(program, each))


def test_they_match_at_all() -> None:
    program, interpreter = compiled("ort-cpu")
    view = read_model(Product(bias="i32").model(), anchors=program.anchors)
    assert assert_agree(program, interpreter, view) >= 1


def options_last(pattern: Anchored) -> bool:
    """To explain, conditions on options alone come behind those on the graph."""
    parts = (part.condition for part in pattern.parts.values())
    return any(asks_options(each, pattern.flat, loaded("ort-cpu")) for each in parts)


@pytest.mark.parametrize("pack", PACKS)
def test_steps_from_an_anchor_are_those_of_the_matcher(pack: str) -> None:
    program, _ = compiled(pack)
    patterns = patterns_of(program)
    for phase in compiled_phases(program.phases):
        for rule in phase.rules:
            for variant in rule.variants:
                found = patterns.anchored(variant, variant.anchor)
                theirs = variant.found.steps
                assert found.steps[: found.structure] == theirs[: found.structure], rule.name
                if options_last(found):
                    assert len(found.steps) == len(theirs), rule.name
                else:
                    assert found.steps == theirs, rule.name


@pytest.mark.parametrize("pack", PACKS)
def test_a_match_is_found_from_every_node(pack: str) -> None:
    """From each node of the pattern that computes, not from its anchor alone."""
    program, _ = compiled(pack)
    patterns = patterns_of(program)
    model = Product(bias="i32").model()
    view = read_model(model, anchors=program.anchors)
    for node in view.nodes():
        for pattern in patterns.closest(node.op).patterns:
            stop = patterns.interpreter.run(pattern.steps, patterns.interpreter.at(node))
            if stop.position < len(pattern.steps):
                continue
            anchor = stop.environment[pattern.places.at(pattern.variant.anchor)]
            steps = pattern.variant.found.steps
            assert patterns.interpreter.matches(steps, anchor)
