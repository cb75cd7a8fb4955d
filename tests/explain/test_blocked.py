"""Small graphs, each with one thing in the way: the right rule and the right condition."""

from __future__ import annotations

import pytest

from . import cases_bias, cases_grids, cases_structure, cases_types
from .blocking import explain, group_of, innermost
from .graphs import Case

CASES = [
    *cases_types.CASES,
    *cases_grids.CASES,
    *cases_bias.CASES,
    *cases_structure.CASES,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cause(case: Case) -> None:
    group = group_of(explain(case.make(), case.pack, **case.options), case.op)
    if not case.rule:
        assert group.cause is None
        return
    assert group.cause is not None
    cause = innermost(group.cause)
    assert cause.rule == case.rule, cause
    assert case.needs in cause.words or case.needs == cause.within, cause
    for fact in case.has:
        assert any(fact in found for found in cause.facts), cause
    assert cause.place.startswith("rules/") and cause.place.count(":") == 2


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
