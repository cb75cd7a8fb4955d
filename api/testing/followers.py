"""Conditions of the rules that must fire behind a rule (`then`), in the names of that rule."""

from __future__ import annotations

from collections.abc import Mapping

from qrewrite.patterns.pack import Pack
from qrewrite.patterns.syntax import (
    Apply,
    Assign,
    Attribute,
    Capture,
    Expr,
    Name,
    Rule,
    Term,
    Where,
)

from .draws import Draw, pick
from .expressions import names_of, substitute
from .world import NUMPY

DEEPEST = 3


def follower_conditions(pack: Pack, rule: Rule, draw: Draw, depth: int = DEEPEST) -> list[Expr]:
    """What one of the rules named by `then`, and what must follow it, asks of the same values.

    The follower's pattern is read against the template: the names that meet are the same value.
    Conditions on what the template makes are left out.
    """
    if not rule.then or not depth:
        return []
    follower = pack.rule(pick(draw, rule.then))
    if follower is None:
        return []
    names: dict[str, Expr] = {}
    for made in rule.template:
        for statement in follower.rule.pattern:
            if isinstance(statement, Assign):
                if len(made.targets) == len(statement.targets):
                    for ours, theirs in zip(made.targets, statement.targets, strict=True):
                        names[theirs.name] = Name(ours.name, ours.span)
                _meet(statement.term, made.term, names)
    conditions = [
        condition
        for clause in follower.rule.clauses
        if isinstance(clause, Where)
        for condition in clause.conditions
    ]
    conditions += follower_conditions(pack, follower.rule, draw, depth - 1)
    return [_renamed(condition, names) for condition in conditions]


def _renamed(condition: Expr, names: Mapping[str, Expr]) -> Expr:
    """Names that did not meet get one that nothing binds, so that they stay unknown."""
    hidden = {
        name: Name(f"?{name}", condition.span)
        for name in names_of(condition)
        if name not in names and name not in ("options", "opset", *NUMPY)
    }
    return substitute(condition, {**hidden, **names})


def _meet(theirs: Term, ours: Term, names: dict[str, Expr]) -> None:
    """Walk a pattern and a template together and note which names stand at one place."""
    if isinstance(theirs, Capture) and isinstance(ours, Capture):
        if theirs.part is None and ours.part is None:
            names.setdefault(theirs.name, Name(ours.name, ours.span))
        return
    if not isinstance(theirs, Apply) or not isinstance(ours, Apply):
        return
    stated = {a.name: a.value for a in ours.attributes or () if isinstance(a, Attribute)}
    for item in theirs.attributes or ():
        if isinstance(item, Attribute) and isinstance(item.value, Name) and item.name in stated:
            names.setdefault(item.value.id, stated[item.name])
    for left, right in zip(theirs.operands, ours.operands, strict=False):
        _meet(left, right, names)
