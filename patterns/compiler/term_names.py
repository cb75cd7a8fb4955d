"""The names that terms bind or read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..syntax import (
    Alternatives,
    Apply,
    Arity,
    Assign,
    Attribute,
    Capture,
    Connected,
    Field,
    Group,
    Name,
    Quantifier,
    Rest,
    RestAttributes,
    Statement,
    Term,
    Use,
)


def names_of(term: Term) -> Iterator[str]:
    """Every name in a term: values, labels, attributes, rests."""
    match term:
        case Capture(name):
            yield name
        case Rest(capture):
            yield capture
        case Group(operands):
            yield from _all_names(operands)
        case Alternatives(choices):
            yield from _all_names(choices)
        case Apply():
            if term.label is not None:
                yield term.label
            yield from _attribute_names(term)
            yield from _all_names(term.operands)
        case _:
            pass


def _all_names(terms: Iterable[Term]) -> Iterator[str]:
    for term in terms:
        yield from names_of(term)


def _attribute_names(term: Apply) -> Iterator[str]:
    for item in term.attributes or ():
        if isinstance(item, Attribute):
            value = item.value
            base = value.base if isinstance(value, Field) else value
            if isinstance(base, Name):
                yield base.id
        elif isinstance(item, RestAttributes) and item.capture is not None:
            yield item.capture


def single_names(statements: Iterable[Statement]) -> frozenset[str]:
    """Names that stand somewhere outside of what repeats, so that they are no lists."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case Assign(targets, term):
                found.update(each.name for each in targets if each.arity is not Arity.REPEATED)
                found.update(_single(term))
            case Use(value=value):
                found.add(value)
            case Connected():
                found.add(statement.start)
    return frozenset(found)


def _single(term: Term) -> Iterator[str]:
    match term:
        case Group() | Apply(arity=Arity.REPEATED) | Alternatives(arity=Arity.REPEATED):
            return
        case Capture(arity=Arity.REPEATED):
            return
        case Alternatives(choices):
            for choice in choices:
                yield from _single(choice)
        case Apply():
            if term.label is not None:
                yield term.label
            yield from _attribute_names(term)
            for operand in term.operands:
                yield from _single(operand)
        case _:
            yield from names_of(term)


def pattern_names(statements: Iterable[Statement]) -> frozenset[str]:
    """Every name that the pattern of a rule can bind."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case Assign(targets, term):
                found.update(each.name for each in targets)
                found.update(names_of(term))
            case Use(result=result, term=term, quantifier=quantifier):
                if quantifier is not Quantifier.NO:
                    found.update(names_of(term))
                    if result is not None:
                        found.add(result)
            case Connected(name):
                found.add(name)
    return frozenset(found)
