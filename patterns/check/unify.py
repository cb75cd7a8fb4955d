"""Whether one graph can have two patterns at the same root, as far as the text proves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..packs.pack import Pack
from ..syntax import (
    Apply,
    Arity,
    Attribute,
    Capture,
    Literal,
    Presence,
    Rest,
    Rule,
    Term,
    Wildcard,
)
from .covers import Names, single_term
from .inference import key_of
from .signatures import Signatures
from .walk import subterms


@dataclass(frozen=True)
class Unify:
    pack: Pack
    signatures: Signatures

    def rules(self, first: Rule, second: Rule) -> Iterator[Names]:
        """Every way to lay one pattern over the other: names of the second as text of the first."""
        left, right = single_term(first), single_term(second)
        if left is None or right is None:
            return
        own = {key_of(each): f"other {key_of(each)}" for each in subterms(right[1])}
        for names in self._terms(left[1], right[1], {right[0]: left[0]}):
            yield {**own, **names}

    def _terms(self, left: Term, right: Term, names: Names) -> Iterator[Names]:
        if isinstance(right, Capture):
            if _plain(left):
                known = names.get(key_of(right))
                if known is None or known == key_of(left):
                    yield {**names, key_of(right): key_of(left)}
        elif isinstance(left, (Capture, Wildcard)) or isinstance(right, Wildcard):
            if _plain(left) and _plain(right):
                yield names
        elif isinstance(left, Apply) and isinstance(right, Apply):
            yield from self._nodes(left, right, names)
        elif left == right:
            yield names

    def _nodes(self, left: Apply, right: Apply, names: Names) -> Iterator[Names]:
        once = left.presence is right.presence is Presence.ONCE
        if not once or not _plain(left) or not _plain(right) or not self._ops_meet(left, right):
            return
        if not _attributes_meet(left, right):
            return
        if left.label is not None and right.label is not None:
            names = {**names, right.label: left.label}
        orders = [right.operands]
        if left.commuted or right.commuted:
            orders.append(right.operands[::-1])
        for operands in orders:
            yield from self._operands(left.operands, operands, names)

    def _ops_meet(self, left: Apply, right: Apply) -> bool:
        here, there = self.signatures.ops_of(left), self.signatures.ops_of(right)
        if not here or not there:
            return left.op == right.op
        return bool(set(here) & set(there))

    def _operands(
        self, left: Sequence[Term], right: Sequence[Term], names: Names
    ) -> Iterator[Names]:
        if left and right and not isinstance(left[0], Rest) and not isinstance(right[0], Rest):
            for found in self._terms(left[0], right[0], names):
                yield from self._operands(left[1:], right[1:], found)
        elif all(_may_be_nothing(each) for each in (*left, *right)):
            yield names


def _plain(term: Term) -> bool:
    """One value, not a list."""
    return getattr(term, "arity", Arity.ONE) is not Arity.REPEATED


def _may_be_nothing(term: Term) -> bool:
    return isinstance(term, Rest) or getattr(term, "arity", Arity.ONE) is Arity.OPTIONAL


def _attributes_meet(left: Apply, right: Apply) -> bool:
    """No attribute is asked to have two values, or to be there in one pattern only.

    Whether a node can have two attributes at once is not known from its schema (Constant cannot).
    """
    here = {item.name: item for item in left.attributes or () if isinstance(item, Attribute)}
    there = {item.name: item for item in right.attributes or () if isinstance(item, Attribute)}
    return all(
        _attribute_meets(here.get(name), there.get(name)) for name in here.keys() | there.keys()
    )


def _attribute_meets(one: Attribute | None, other: Attribute | None) -> bool:
    if one is None or other is None:
        found = one or other
        return found is None or found.optional or isinstance(found.value, Literal)
    both = isinstance(one.value, Literal) and isinstance(other.value, Literal)
    return not both or one.value == other.value
