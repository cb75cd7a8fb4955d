"""Which values of a pattern are roots, and which are computed by nodes that the rule removes."""

from __future__ import annotations

from ..syntax import Alternatives, Apply, Arity, Assign, Rule, Target, Term
from .bindings import captures_of


def outputs(rule: Rule) -> dict[str, tuple[Target, Assign]]:
    """The values that statements of the pattern name, and where."""
    return {
        target.name: (target, statement)
        for statement in rule.pattern
        if isinstance(statement, Assign)
        for target in statement.targets
    }


def consumed(rule: Rule) -> frozenset[str]:
    """The values that nodes of the pattern read; the conditions on uses count for nothing."""
    names: frozenset[str] = frozenset()
    for statement in rule.pattern:
        if isinstance(statement, Assign):
            names |= captures_of(statement.term)
    return names


def roots(rule: Rule) -> tuple[Target, ...]:
    """The outputs that the template must produce: nothing in the pattern reads them."""
    read = consumed(rule)
    return tuple(
        target
        for name, (target, statement) in outputs(rule).items()
        if name not in read and not _borrowed(statement.term)
    )


def removed(rule: Rule) -> frozenset[str]:
    """The values that are gone after the rewrite unless the template produces them."""
    return frozenset(
        name for name, (_, statement) in outputs(rule).items() if not _borrowed(statement.term)
    )


def _borrowed(term: Term) -> bool:
    match term:
        case Apply():
            return term.borrowed
        case Alternatives():
            return all(_borrowed(choice) for choice in term.choices)
        case _:
            return True


def is_optional(target: Target) -> bool:
    return target.arity is Arity.OPTIONAL
