"""``t = recode(t, u8)``: the one template that a connected set can have."""

from __future__ import annotations

from qrewrite.engine.dtypes import NUMBERS, integer_range

from ..syntax import Apply, Assign, Capture, Connected, Rule
from .report import Report

RECODE = "recode"


def connected(rule: Rule) -> Connected | None:
    """The statement of a rule that takes a whole connected set of tensors."""
    return next((each for each in rule.pattern if isinstance(each, Connected)), None)


def check_recoding(rule: Rule, statement: Connected, report: Report) -> None:
    """A connected set is given another integer type, and nothing else is done."""
    name = statement.name
    if len(rule.template) == 1 and _recodes(rule.template[0], name):
        return
    message = "the template of a connected set gives it another integer type, and nothing else"
    report.error(rule.template[0].span, message, f"as in {name} = recode({name}, u8)")


def _recodes(assign: Assign, name: str) -> bool:
    match assign.term:
        case Apply(op=op, operands=(Capture(value, None), Capture(kind, None))):
            targets = [target.name for target in assign.targets]
            is_integer = kind in NUMBERS and integer_range(NUMBERS[kind]) is not None
            return op.name == RECODE and targets == [name] == [value] and is_integer
        case _:
            return False
