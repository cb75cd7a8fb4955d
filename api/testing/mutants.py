"""Rules with one mistake put in: verification must refute them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from qrewrite.patterns.packs.pack import Pack, PackRule
from qrewrite.patterns.syntax import (
    Apply,
    Capture,
    Clause,
    Expr,
    ListOf,
    Member,
    Name,
    Rule,
    Term,
    Unary,
    Where,
)

from .application import with_rules
from .expressions import conjuncts

WIDER = {"u8": "u16", "i8": "i16", "u16": "u8", "i16": "i8", "i32": "u8", "f32": "f16"}
"""A type that a set of types is widened by."""
COMMUTATIVE = frozenset({"Add", "Mul", "Max", "Min", "Sum", "Mean"})
"""Ops that do not mind swapped operands."""


@dataclass(frozen=True)
class Mutant:
    """A pack in which one rule has a mistake."""

    what: str
    pack: Pack
    rule: PackRule
    original: PackRule
    condition: int | None = None
    """The condition that was changed, as near misses number them."""


def mutants_of(pack: Pack, rule: PackRule) -> list[Mutant]:
    """Every mutant of a rule, in a fixed order."""
    opened = replace(rule.rule, clauses=tuple(_opened(pack, rule.rule)))
    original = replace(rule, rule=opened)
    return [
        Mutant(
            what,
            _with(pack, replace(rule, rule=changed)),
            replace(rule, rule=changed),
            original,
            place,
        )
        for what, changed, place in (*_conditions(opened), *_templates(opened))
    ]


def _with(pack: Pack, rule: PackRule) -> Pack:
    return with_rules(pack, [rule if each.name == rule.name else each for each in pack.rules])


# ---- conditions -------------------------------------------------------------------------------


def _opened(pack: Pack, rule: Rule) -> Iterator[Clause]:
    """The clauses with named guards replaced by what they say."""
    for clause in rule.clauses:
        if isinstance(clause, Where):
            yield replace(
                clause,
                conditions=tuple(c for each in clause.conditions for c in conjuncts(pack, each)),
            )
        else:
            yield clause


def _conditions(rule: Rule) -> Iterator[tuple[str, Rule, int]]:
    number = 0
    for clause_index, clause in enumerate(rule.clauses):
        if not isinstance(clause, Where):
            continue
        for index, condition in enumerate(clause.conditions):
            for what, made in _changes(condition):
                kept = (*clause.conditions[:index], *made, *clause.conditions[index + 1 :])
                clauses = list(rule.clauses)
                clauses[clause_index] = replace(clause, conditions=kept)
                if not kept:
                    del clauses[clause_index]
                yield f"{what} {text(condition)}", replace(rule, clauses=tuple(clauses)), number
            number += 1


def _changes(condition: Expr) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """What a condition is changed into; nothing: it is dropped."""
    yield "without", ()
    yield "negated", (Unary("not", condition, condition.span),)
    if isinstance(condition, Member) and not isinstance(condition.choices, str):
        wider = list(_wider(condition))
        if wider:
            choices = (*condition.choices, wider[0])
            yield "wider types in", (replace(condition, choices=choices),)


def _wider(condition: Member) -> Iterator[Expr]:
    assert not isinstance(condition.choices, str)
    for choice in condition.choices:
        names = choice.elements if isinstance(choice, ListOf) else (choice,)
        changed = tuple(
            replace(n, id=WIDER[n.id]) if isinstance(n, Name) and n.id in WIDER else n
            for n in names
        )
        made: Expr = replace(choice, elements=changed) if isinstance(choice, ListOf) else changed[0]
        if made not in condition.choices:
            yield made


def text(expression: Expr) -> str:
    """The words that an expression was written in."""
    span = expression.span
    lines = span.source.text.splitlines()[span.line - 1 : span.end_line]
    if len(lines) == 1:
        words = lines[0][span.column - 1 : span.end_column - 1]
    else:
        words = " ".join(
            [lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]]
        )
    file = span.source.name.rpartition("/")[2]
    return f"{' '.join(words.split())} ({file}:{span.line}:{span.column})"


# ---- templates --------------------------------------------------------------------------------


def _templates(rule: Rule) -> Iterator[tuple[str, Rule, None]]:
    for index, made in enumerate(rule.template):
        for what, term in _term_changes(made.term):
            template = list(rule.template)
            template[index] = replace(made, term=term)
            yield what, replace(rule, template=tuple(template)), None


def _term_changes(term: Term) -> Iterator[tuple[str, Term]]:
    if not isinstance(term, Apply):
        return
    places = () if term.op.name in COMMUTATIVE else range(len(term.operands))
    for left, right in combinations(places, 2):
        if _kind(term.operands[left]) == _kind(term.operands[right]) is not None:
            operands = list(term.operands)
            operands[left], operands[right] = operands[right], operands[left]
            if operands != list(term.operands):
                names = f"{_shown(term.operands[left])} and {_shown(term.operands[right])}"
                yield f"swapped {names} of {term.op.name}", replace(term, operands=tuple(operands))
    for index, item in enumerate(term.attributes or ()):
        assert term.attributes is not None
        kept = (*term.attributes[:index], *term.attributes[index + 1 :])
        name = getattr(item, "name", None) or f"*{getattr(item, 'capture', '')}"
        yield f"without attribute {name} of {term.op.name}", replace(term, attributes=kept or None)
    for index, operand in enumerate(term.operands):
        for what, changed in _term_changes(operand):
            operands = list(term.operands)
            operands[index] = changed
            yield what, replace(term, operands=tuple(operands))


def _kind(term: Term) -> str | None:
    return term.part or "value" if isinstance(term, Capture) else None


def _shown(term: Term) -> str:
    assert isinstance(term, Capture)
    return f"{term.name}.{term.part}" if term.part else term.name
