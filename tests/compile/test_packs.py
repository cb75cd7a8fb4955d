"""Whole files: includes, custom ops, options, phases, priority, order, Python functions, limits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from qrewrite.engine.errors import RuleError
from qrewrite.engine.io.models import read_model
from qrewrite.engine.run.fixpoint import run as run_phases
from qrewrite.loading import load_pack
from qrewrite.patterns.packs.declared_ops import declared_schema
from qrewrite.patterns.packs.options import settings
from qrewrite.patterns.program import compile_pack

from ..rules.graphs import Builder
from .harness import check, rewritten


def apply(pack_path: Path, b: Builder, **options: object) -> Counter[str]:
    pack = load_pack(pack_path)
    known = settings(pack, options)
    schemas = [declared_schema(each) for each in pack.declarations.values()]
    view = read_model(b.model(), declared=schemas)
    outcome = run_phases(view, compile_pack(pack, known), known, checked=True)
    return Counter(each.rule for each in outcome.applied)


def abs_abs() -> Builder:
    b = Builder()
    b.node("Abs", [b.node("Abs", [b.input("x", "f32", (2,))])], b.output("y", "f32"))
    return b


def test_includes_options_and_phases(tmp_path: Path) -> None:
    (tmp_path / "shared.rules").write_text("pattern Twice(v) = Abs(Abs(v))\n")
    pack = tmp_path / "mine"
    pack.mkdir()
    (pack / "pack.rules").write_text(
        """
        pack mine "A pack" {
            needs ai.onnx >= 7
            phases first, second
            option enabled = true "whether the first rule may fire"
        }
        """
    )
    (pack / "a.rules").write_text(
        """
        include "../shared.rules"
        phase second
        rule later { y = Twice(v) => y = Abs(v) exact }
        phase first
        rule sooner { y = Twice(v) where options.enabled => y = Abs(v) exact }
        """
    )
    assert apply(pack, abs_abs()) == {"sooner": 1}
    assert apply(pack, abs_abs(), enabled=False) == {"later": 1}


CUSTOM = """
op com.acme::Twice<factor: float = 2.0>(x: T) -> y: T where T in {f32, f16}

rule custom "An op of another domain, known by its declaration" {
    y = com.acme::Twice<factor = f>(Neg(v))
    where f == 2
 => y = com.acme::Twice<factor = -2.0>(v)
    exact
}
"""


@pytest.mark.parametrize(("factor", "fires"), [(None, True), (2.0, True), (3.0, False)])
def test_declared_ops(factor: float | None, fires: bool) -> None:
    given = {} if factor is None else {"factor": factor}
    nodes = [
        helper.make_node("Neg", ["x"], ["v"]),
        helper.make_node("Twice", ["v"], ["y"], domain="com.acme", **given),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,)) for name in "xy")
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("com.acme", 1)]
    graph = helper.make_graph(nodes, "g", [x], [y])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    result = rewritten(CUSTOM, model)
    assert bool(result.fired) == fires
    if fires:
        assert result.attributes("Twice") == {"factor": -2.0}


ORDER = """
rule general { y = Abs(Abs(v)) => y = Abs(v) exact }
rule special { y = Neg(Abs(Abs(v))) => y = Neg(Abs(v)) exact }
rule asks { y = Abs(Abs(v)) where rank(v) == 1 => y = Abs(v) exact }
"""


def test_the_more_specific_rule_goes_first() -> None:
    assert rewritten(ORDER, abs_abs().model()).fired == {"asks": 1}


def test_priority_goes_before_that() -> None:
    rules = ORDER.replace("rule general", "rule general priority 1")
    assert rewritten(rules, abs_abs().model()).fired == {"general": 1}


def test_too_many_variants() -> None:
    terms = ", ".join(f"Add~(a{i}, Neg(b{i}))" for i in range(7))
    with pytest.raises(RuleError, match="stands for more than"):
        rule = f"rule many {{ y = Max({terms}) => y = a0 exact }}"
        rewritten(rule, abs_abs().model())


PYTHON = """
python "tests.python_rules" import {name}

rule python "Calls a function of a module" {{
    y = Mul(Abs(v), c)
    where is_const(c), {name}(c)
 => y = Mul(v, c)
    exact
}}
"""


def test_functions_of_a_python_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_functions.py").write_text(
        "def all_ones(t):\n    return bool((t == 1).all())\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "test.rules"
    path.write_text(PYTHON.format(name="all_ones").replace("tests.python_rules", "acme_functions"))
    with pytest.raises(RuleError):
        load_pack(rules=(path,))
    pack = load_pack(rules=(path,), allow_python=True)
    for value, fires in ((1.0, True), (2.0, False)):
        b = Builder()
        v = b.node("Abs", [b.input("x", "f32", (2,))])
        b.node("Mul", [v, b.constant(np.full(2, value), "f32")], b.output("y", "f32"))
        outcome = run_phases(read_model(b.model()), compile_pack(pack, {}), {})
        assert bool(outcome.applied) == fires


def test_an_opset_that_lacks_the_new_op_refuses() -> None:
    rule = """
    rule gelu "An op of opset 20" {
        y = Neg(Neg(Abs(v)))
     => y = Gelu(v)
        exact
    }
    """
    for opset, fires in ((19, False), (20, True)):
        b = Builder(opset)
        v = b.node("Abs", [b.input("x", "f32", (2,))])
        b.node("Neg", [b.node("Neg", [v])], b.output("y", "f32"))
        assert bool(rewritten(rule, b.model()).fired) == fires


def test_opset_13_conditions() -> None:
    rule = "rule new { y = Abs(Abs(v)) where opset >= 13 => y = Abs(v) exact }"
    for opset, fires in ((12, {}), (13, {"new": 1})):
        b = Builder(opset)
        b.node("Abs", [b.node("Abs", [b.input("x", "f32", (2,))])], b.output("y", "f32"))
        check(rule, b.model(), fires)
