"""Which nodes of a pattern the rule removes, and which values the template must produce."""

from __future__ import annotations

from collections.abc import Iterator

from ..syntax import Alternatives, Apply, Arity, Assign, Capture, Rule, Target, Term
from .walk import subterms


def values_read(term: Term) -> frozenset[str]:
    """Names of the values that a term has as operands; their parts alone do not count."""
    return frozenset(
        each.name for each in subterms(term) if isinstance(each, Capture) and each.part is None
    )


def statements(rule: Rule) -> Iterator[Assign]:
    return (each for each in rule.pattern if isinstance(each, Assign))


def outputs(rule: Rule) -> dict[str, Target]:
    """The values that statements of the pattern name."""
    return {target.name: target for each in statements(rule) for target in each.targets}


def produced(rule: Rule) -> frozenset[str]:
    """The values that the template produces."""
    return frozenset(target.name for assign in rule.template for target in assign.targets)


def kept(rule: Rule) -> tuple[Assign, ...]:
    """The statements whose nodes stay: borrowed, read by the template, or feeding only such."""
    made = produced(rule)
    read = frozenset(name for assign in rule.template for name in values_read(assign.term)) - made
    found = [
        each
        for each in statements(rule)
        if _borrowed(each.term) or any(target.name in read for target in each.targets)
    ]
    changed = True
    while changed:
        changed = False
        for each in statements(rule):
            names = {target.name for target in each.targets}
            readers = [other for other in statements(rule) if names & values_read(other.term)]
            idle = bool(readers) and all(reader in found for reader in readers)
            if idle and each not in found and not names & made:
                found.append(each)
                changed = True
    return tuple(found)


def roots(rule: Rule) -> tuple[Target, ...]:
    """The first output of every removed node of which nothing in the pattern reads an output."""
    stays = kept(rule)
    read = frozenset(name for each in statements(rule) for name in values_read(each.term))
    return tuple(
        each.targets[0]
        for each in statements(rule)
        if each not in stays and not any(target.name in read for target in each.targets)
    )


def siblings(rule: Rule, name: str) -> frozenset[str]:
    """All outputs of the node that gives the value of this name."""
    return frozenset(
        target.name
        for each in statements(rule)
        if any(target.name == name for target in each.targets)
        for target in each.targets
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
