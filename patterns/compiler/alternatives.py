"""Ops, op sets and alternatives: which of them are one node of a flat pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qrewrite.engine.dtypes import NUMBERS

from ..packs.pack import Pack, op_key
from ..syntax import (
    Apply,
    Attribute,
    Expr,
    Field,
    Literal,
    Name,
    OpName,
    Presence,
    RestAttributes,
    Term,
    Unary,
)
from .flat import Form


def ops_of(name: OpName, pack: Pack) -> tuple[str, ...]:
    """The ops that a name stands for: those of an op set, or one."""
    found = pack.op_sets.get(name.name) if not name.domain and name.slot is None else None
    if found is None:
        return (op_key(name),)
    return tuple(dict.fromkeys(op for each in found.ops for op in _member(each, name, pack)))


def _member(each: OpName, within: OpName, pack: Pack) -> tuple[str, ...]:
    return (op_key(each),) if each.name == within.name else ops_of(each, pack)


def is_commutative(name: OpName, pack: Pack) -> bool:
    found = pack.op_sets.get(name.name) if not name.domain else None
    return found is not None and found.commutative


def forms_of(terms: Iterable[Apply], pack: Pack) -> list[Form]:
    forms: dict[str, Form] = {}
    for term in terms:
        for op in ops_of(term.op, pack):
            forms.setdefault(op, Form(op, term.attributes))
    return list(forms.values())


Written = tuple[Term, tuple[Expr, ...]]
"""A term and the conditions that come with it."""


def grouped(choices: Sequence[Written], pack: Pack) -> list[list[Written]]:
    """Alternatives that differ in op and attributes alone stand together: they are one node."""
    groups: list[list[Written]] = []
    for choice in choices:
        for group in groups:
            if _alike(group, choice, pack):
                group.append(choice)
                break
        else:
            groups.append([choice])
    return groups


def _alike(group: Sequence[Written], choice: Written, pack: Pack) -> bool:
    (first, conditions), (term, more) = group[0], choice
    if not isinstance(first, Apply) or not isinstance(term, Apply) or conditions != more:
        return False
    shape = (term.operands, term.label, term.borrowed, term.commuted, term.arity)
    if shape != (first.operands, first.label, first.borrowed, first.commuted, first.arity):
        return False
    for each in (first, term):
        if each.presence is not Presence.ONCE or each.op.name in pack.fragments:
            return False
        if is_commutative(each.op, pack):
            return False
    known: dict[Expr | str, str] = {}
    return all(
        known.setdefault(key, name) == name
        for each, _ in (*group, choice)
        if isinstance(each, Apply)
        for key, name in _captured_attributes(each)
    )


def _captured_attributes(term: Apply) -> list[tuple[Expr | str, str]]:
    """What attributes are captured as; a rest of attributes counts as one of any op."""
    found: list[tuple[Expr | str, str]] = []
    for item in term.attributes or ():
        if isinstance(item, Attribute) and isinstance(item.value, Name | Field):
            found.append((item.value, item.name))
        elif isinstance(item, RestAttributes) and item.capture is not None:
            found.append((item.capture, "*"))
    return found


def is_literal(expression: Expr) -> bool:
    """Whether an attribute's value is written out: a number, string or element type."""
    match expression:
        case Literal():
            return True
        case Name(id=name):
            return name in NUMBERS
        case Unary("-", Literal()):
            return True
        case _:
            elements = getattr(expression, "elements", None)
            return elements is not None and all(is_literal(each) for each in elements)
