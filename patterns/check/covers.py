"""Whether one pattern matches whatever another matches, as far as the text proves it.

Fragments are compared by name, not by what they stand for, and patterns only where they are one
statement.  Where there is a doubt the answer is no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..packs.pack import Pack
from ..syntax import (
    Absent,
    Alternatives,
    Apply,
    Arity,
    Assign,
    Attribute,
    AttributeItem,
    Capture,
    Constant,
    DropAttribute,
    Name,
    Presence,
    Rest,
    RestAttributes,
    Rule,
    Term,
    Wildcard,
)
from .canonical import canonical
from .inference import key_of
from .signatures import Signatures

Names = Mapping[str, str]
"""By name of the general pattern: what it stands for in the special one, as text."""
MISSING = "@missing"
"""What an optional name stands for where the special pattern has nothing."""


def single_term(rule: Rule) -> tuple[str, Term] | None:
    """The root and the term of a pattern that is one tree; None for every other pattern."""
    if len(rule.pattern) != 1 or not isinstance(rule.pattern[0], Assign):
        return None
    statement = rule.pattern[0]
    if len(statement.targets) != 1 or statement.targets[0].arity is not Arity.ONE:
        return None
    return statement.targets[0].name, statement.term


@dataclass(frozen=True)
class Covers:
    pack: Pack
    signatures: Signatures

    def rules(self, general: Rule, special: Rule) -> Iterator[Names]:
        """Every way in which the pattern of one rule is found in each match of the other."""
        left, right = single_term(general), single_term(special)
        if left is not None and right is not None:
            yield from self.terms(left[1], right[1], {left[0]: right[0]})

    def terms(self, general: Term, special: Term, names: Names) -> Iterator[Names]:
        if _may_be_missing(special) and not _may_be_missing(general):
            return
        match general:
            case Wildcard(arity):
                if arity is not Arity.REPEATED and not _is_list(special):
                    yield names
            case Capture():
                one_value = not isinstance(special, (Rest, Absent))
                if one_value and _is_list(special) == _is_list(general):
                    yield from _bind(key_of(general), key_of(special), names)
            case Alternatives():
                for choice in general.choices:
                    yield from self.terms(choice, special, names)
            case Apply():
                yield from self._nodes(general, special, names)
            case Constant() | Absent():
                if general == special:
                    yield names
            case _:
                return

    def _nodes(self, general: Apply, special: Term, names: Names) -> Iterator[Names]:
        if general.presence is Presence.OPTIONAL:
            yield from self.terms(general.operands[0], special, names)
        if not isinstance(special, Apply) or special.presence is not Presence.ONCE:
            return
        if general.presence not in (Presence.ONCE, Presence.OPTIONAL):
            return
        if _is_list(general) != _is_list(special) or not self._ops_within(general, special):
            return
        if special.borrowed and not general.borrowed:
            return
        if general.label is not None and special.label is not None:
            names = {**names, general.label: special.label}
        attributes = _attributes(general, special, names)
        if attributes is None:
            return
        if not general.commuted and (special.commuted or self._commutes(special)):
            return
        orders = [general.operands]
        if general.commuted or self._commutes(general):
            orders.append(general.operands[::-1])
        for operands in orders:
            yield from self._operands(operands, special.operands, attributes)

    def _commutes(self, node: Apply) -> bool:
        members = None if node.op.domain else self.pack.op_sets.get(node.op.name)
        return members is not None and members.commutative

    def _ops_within(self, general: Apply, special: Apply) -> bool:
        left, right = self.signatures.ops_of(general), self.signatures.ops_of(special)
        if not left or not right:  # fragments
            return general.op == special.op and not left and not right
        return set(right) <= set(left)

    def _operands(
        self, general: Sequence[Term], special: Sequence[Term], names: Names
    ) -> Iterator[Names]:
        if not general:
            if not special:
                yield names
            return
        first = general[0]
        if isinstance(first, Rest) or first == Wildcard(Arity.REPEATED, first.span):
            yield names
        elif special and isinstance(special[0], Rest):
            return
        elif special and not isinstance(special[0], Absent):
            for found in self.terms(first, special[0], names):
                yield from self._operands(general[1:], special[1:], found)
        elif _may_be_missing(first) or isinstance(first, Absent):
            absent = {key: MISSING for key in _names_inside(first) if key not in names}
            yield from self._operands(general[1:], special[1:], {**names, **absent})


def _names_inside(term: Term) -> Iterator[str]:
    match term:
        case Capture():
            yield key_of(term)
        case Apply():
            for operand in term.operands:
                yield from _names_inside(operand)
        case _:
            return


def _bind(name: str, text: str, names: Names) -> Iterator[Names]:
    known = names.get(name)
    if known is None:
        yield {**names, name: text}
    elif known == text:
        yield names


def _attributes(general: Apply, special: Apply, names: Names) -> Names | None:
    """The attributes that the general pattern asks for are asked for by the special one, too."""
    given = {item.name: item for item in special.attributes or () if isinstance(item, Attribute)}
    complete = any(isinstance(item, RestAttributes) for item in general.attributes or ())
    if not complete and _uncovered_differ(general.attributes, special.attributes):
        return None
    for item in general.attributes or ():
        if isinstance(item, (RestAttributes, DropAttribute)):
            continue
        other = given.get(item.name)
        if other is None or (other.optional and not item.optional):
            return None
        if isinstance(item.value, Name):
            names = {**names, item.value.id: canonical(other.value, {})}
        elif canonical(item.value, {}) != canonical(other.value, {}):
            return None
    return names


def _uncovered_differ(
    general: tuple[AttributeItem, ...] | None, special: tuple[AttributeItem, ...] | None
) -> bool:
    """What is not named must have its default: the special pattern names no more than the other."""
    here = {getattr(item, "name", "*") for item in general or ()}
    there = {getattr(item, "name", "*") for item in special or ()}
    return not there <= here


def _may_be_missing(term: Term) -> bool:
    return getattr(term, "arity", Arity.ONE) is Arity.OPTIONAL


def _is_list(term: Term) -> bool:
    return getattr(term, "arity", Arity.ONE) is Arity.REPEATED
