"""Merging the steps of rules: work is shared, and the order in which rules are tried is kept."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from qrewrite.loading import load_pack
from qrewrite.patterns.compiler.codegen import function_body
from qrewrite.patterns.compiler.steps import Bind, Candidates, Step
from qrewrite.patterns.compiler.steps import Test as Must
from qrewrite.patterns.program import compile_pack


def fires(sequences: list[tuple[list[Step], str]], **values: object) -> list[str]:
    """The actions that are taken, in order, none of which ends the function."""
    taken: list[str] = []
    lines = [(steps, f"taken.append({name!r})") for steps, name in sequences]
    scope: dict[str, object] = {"taken": taken}
    exec(f"def f({', '.join(values)}):\n{function_body(lines, 'return')}", scope)
    scope["f"](**values)  # type: ignore[operator]  # made by exec
    return taken


def naive(sequences: list[tuple[list[Step], str]], **values: object) -> list[str]:
    """The same, one sequence after the other."""
    taken: list[str] = []

    def follow(steps: list[Step], scope: dict[str, object], name: str) -> None:
        for position, step in enumerate(steps):
            if isinstance(step, Bind):
                scope = scope | {step.name: eval(step.expression, {}, scope)}
            elif isinstance(step, Must):
                if not eval(step.expression, {}, scope):
                    return
            else:
                for each in eval(step.expression, {}, scope):
                    follow(steps[position + 1 :], scope | {step.name: each}, name)
                return
        taken.append(name)

    for steps, name in sequences:
        follow(steps, dict(values), name)
    return taken


def some_steps(chance: random.Random) -> list[Step]:
    steps: list[Step] = []
    for _ in range(chance.randrange(6)):
        kind = chance.randrange(4)
        if kind == 0:
            steps.append(Bind("b", f"x + {chance.randrange(2)}"))
        elif kind == 1 and not any(isinstance(each, Candidates) for each in steps):
            steps.append(Candidates("c", f"range({chance.randrange(3)})"))
        elif kind == 2:
            wanted = chance.randrange(3)
            steps.append(Must(f"y == {wanted}", "y", frozenset({wanted})))
        else:
            steps.append(Must(f"x % {chance.randrange(1, 4)} == 0"))
    return steps


@pytest.mark.parametrize("seed", range(60))
def test_merged_steps_do_what_they_do_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    sequences = [(some_steps(chance), f"rule {index}") for index in range(chance.randrange(1, 9))]
    for x in range(6):
        for y in range(3):
            found, expected = fires(sequences, x=x, y=y), naive(sequences, x=x, y=y)
            assert found == expected, sequences


def test_many_forks_are_not_too_deep_for_python() -> None:
    sequences: list[tuple[list[Step], str]] = []
    for depth in range(150):
        shared: list[Step] = [Must(f"x != {-level - 1}") for level in range(150 - depth)]
        sequences.append(([*shared, Must(f"x == {depth}")], f"rule {depth}"))
    assert fires(sequences, x=140) == ["rule 140"]


def sources(rules: str, op: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.rules"
        path.write_text(rules, encoding="utf-8")
        pack = load_pack(rules=(path,))
    [phase] = [each for each in compile_pack(pack, {}) if each.rules]
    assert phase.matcher(op) is not None
    return "\n".join(phase.rules[0].sources().values())


def test_rules_of_one_shape_do_their_common_work_once() -> None:
    rules = "\n".join(
        f"rule r{i} {{ y = Q(Conv<*a>(DQ(x), DQ(w), DQ(b)?))"
        f" where x.type == u8, rank(x) == {50 + i}"
        " => y = QLinearConv<*a>(x, x.scale, x.zero_point, w, w.scale, w.zero_point, y.scale,"
        " y.zero_point, b?) within 1 quantum of y }"
        for i in range(30)
    )
    text = sources(rules, "Conv")
    assert text.count("fire(") == 60, "with and without the optional operand"
    for shared in ("= next(iter(no0.uses))", "= ni0.producer", "= rank(ni0pi0)"):
        assert text.count(shared) == 2, shared


def test_a_failure_calls_no_constructor() -> None:
    """Up to the first failing condition on types nothing is made: neither a list nor a tuple."""
    text = sources(
        "rule r { y = Q(Abs(DQ(x))) where x.type == u8, y.type == u8 => y = x exact }", "Abs"
    )
    matcher = text[text.index("(n, fire):") : text.index("fire(k")]
    assert "Quantized(" not in matcher and "tuple(" not in matcher and "[]" not in matcher
