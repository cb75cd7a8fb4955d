"""What is said to mend a cause is about the condition that failed."""

from __future__ import annotations

import pytest
from rules.graphs import unary

from .blocking import explain, group_of, innermost
from .graphs import I8, U8, Case, cast_before_quantizer
from .test_blocked import CASES

BY_NAME = {case.name: case for case in CASES}


def hint_of(case: Case) -> str:
    group = group_of(explain(case.make(), case.pack, **case.options), case.op)
    assert group.cause is not None
    return innermost(group.cause).hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("add of u8 and i8", "quantize both in one type"),
        ("zero points apart", "give both one scale and zero point"),
        ("tables switched off", "--set tables=true"),
        ("tanh to a scale that divides nothing", "a scale of 1/n"),
        ("bias beyond int32", "within int32 quanta of x.scale * w.scale"),
    ],
)
def test_mend(name: str, hint: str) -> None:
    assert hint in hint_of(BY_NAME[name])


def test_types_go_before_the_hint_of_the_rule() -> None:
    found = group_of(explain(unary("Tanh", U8, I8)), "Tanh")
    assert found.cause is not None
    assert found.cause.hint == "quantize both in one type"


def test_no_mend_for_what_has_none() -> None:
    found = group_of(explain(cast_before_quantizer()), "Cast")
    assert found.cause is not None
    assert found.cause.hint == ""
