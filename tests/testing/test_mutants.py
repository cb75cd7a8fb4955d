"""Each condition of a rule matters: mutants are refuted, but for those known to be right."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from qrewrite.loading import load_pack
from qrewrite.testing.mutants import mutants_of
from qrewrite.testing.refute import Fate, fate

loaded = cache(load_pack)
EXPLAINED: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent / "survivors.json").read_text()
)
"""Rule -> mutant that survives -> why."""
RULES = [rule.full_name for rule in load_pack("ort-cpu").rules]
SAMPLE = ("onnx/rectify",)
FEW, MANY = 20, 300


def survivors(name: str, examples: int) -> set[str]:
    pack = loaded("ort-cpu")
    rule = pack.rule(name)
    assert rule is not None
    mutants = mutants_of(pack, rule)
    assert mutants
    return {without_place(m.what) for m in mutants if fate(m, examples, 0) is Fate.SURVIVES}


def without_place(what: str) -> str:
    """A mutant's words without file, line and column, which change."""
    return re.sub(r" \([^()]*:\d+:\d+\)$", "", what)


@pytest.mark.parametrize("name", SAMPLE)
def test_mutants_of_some_rules_are_refuted(name: str) -> None:
    assert survivors(name, FEW) <= set(EXPLAINED.get(name, {}))


@pytest.mark.deep
@pytest.mark.parametrize("name", RULES)
def test_mutants_of_all_rules_are_refuted(name: str) -> None:
    assert survivors(name, MANY) <= set(EXPLAINED.get(name, {}))


def test_explanations_are_of_rules_that_ship() -> None:
    assert set(EXPLAINED) <= set(RULES)
