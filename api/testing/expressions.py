"""Conditions taken apart: names replaced, named guards opened, one way to make them true."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import (
    Call,
    Compare,
    Conditional,
    Expr,
    Field,
    Logical,
    Name,
    Rule,
    Source,
    Span,
    Unary,
)

from .draws import Draw, pick
from .structure import Choice, place

E = TypeVar("E")


@dataclass(frozen=True)
class Atom:
    """A condition without and, or, not and named guards, and whether it is to hold."""

    expression: Expr
    holds: bool
    choice: Choice
    """The place of the rule that it stems from."""


def substitute(expression: Expr, names: Mapping[str, Expr]) -> Expr:
    """The expression with names replaced."""
    replaced: Expr = _rebuilt(expression, names)
    return replaced


def _rebuilt(node: Any, names: Mapping[str, Expr]) -> Any:
    if isinstance(node, Name):
        return names.get(node.id, node)
    if isinstance(node, tuple):
        made = tuple(_rebuilt(each, names) for each in node)
        return node if all(map(operator.is_, made, node)) else made
    inside = _inside(node)
    if not inside:
        return node
    if isinstance(node, Field) and isinstance(node.base, Name):
        part = names.get(f"{node.base.id}.{node.name}")
        if part is not None:
            return part
        stands = names.get(node.base.id)
        if isinstance(stands, Name):
            return Field(stands, node.name, node.span)
    changes = {}
    for name in inside:
        old = getattr(node, name)
        new = _rebuilt(old, names)
        if new is not old:
            changes[name] = new
    return replace(node, **changes) if changes else node


def _inside(node: object) -> tuple[str, ...]:
    return _fields(type(node))  # type: ignore[arg-type]  # mypy holds classes for unhashable


@cache
def _fields(kind: Hashable) -> tuple[str, ...]:
    """The fields of an expression, but for where it stands in the text; none of all else."""
    if not isinstance(kind, type) or not is_dataclass(kind) or kind in (Span, Source):
        return ()
    return tuple(f.name for f in fields(kind) if f.name not in ("span", "name_span"))


def walk(expression: Expr | Rule) -> Iterator[Any]:
    """The expression, or rule, and every part inside it."""
    waiting: list[Any] = [expression]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting += reversed(each)
        elif inside := _inside(each):
            yield each
            waiting += [getattr(each, name) for name in reversed(inside)]


def names_of(expression: Expr) -> list[str]:
    return list(dict.fromkeys(each.id for each in walk(expression) if isinstance(each, Name)))


def elements(expression: Expr, lists: Mapping[str, list[str]]) -> list[Expr]:
    """The condition once for every element of the lists it names."""
    for name in names_of(expression):
        if name in lists:
            return [
                each
                for slot in lists[name]
                for each in elements(
                    substitute(expression, {name: Name(slot, expression.span)}), lists
                )
            ]
    return [expression]


def conjuncts(pack: Pack, condition: Expr) -> Iterator[Expr]:
    """The conditions that a condition stands for, named guards replaced by what they say."""
    if isinstance(condition, Call) and condition.function in pack.guards:
        guard = pack.guards[condition.function]
        names = dict(zip(guard.parameters, condition.arguments, strict=False))
        for each in guard.conditions:
            yield from conjuncts(pack, substitute(each, names))
    elif isinstance(condition, Logical) and condition.operator == "and":
        for operand in condition.operands:
            yield from conjuncts(pack, operand)
    elif isinstance(condition, Compare) and len(condition.rest) > 1:
        left = condition.first
        for sign, right in condition.rest:
            yield Compare(left, ((sign, right),), condition.span)
            left = right
    else:
        yield condition


class Atoms:
    """Takes conditions apart; where there are several ways, one is drawn and recorded."""

    def __init__(
        self, pack: Pack, optional: set[str], absent: set[str], draw: Draw,
        known: Callable[[Expr], bool | None] = lambda condition: None,
    ) -> None:  # fmt: skip
        self.pack = pack
        self.known = known
        """Whether a condition is already known to hold or not."""
        self.optional = optional
        """Names of values, as opposed to attributes."""
        self.absent = absent
        self.draw = draw
        self.choices: list[Choice] = []

    def of(self, expression: Expr, holds: bool = True) -> list[Atom]:
        """Atoms that together make the expression true, or false."""
        match expression:
            case Unary(operator="not"):
                return self.of(expression.operand, not holds)
            case Logical():
                return self._logical(expression, holds)
            case Compare() if len(expression.rest) > 1:
                return self._chain(expression, holds)
            case Conditional():
                truth = self._one_of(expression, ("then", "else")) == "then"
                branch = expression.then if truth else expression.otherwise
                return self.of(expression.condition, truth) + self.of(branch, holds)
            case Call() if expression.function in self.pack.guards:
                return self._guard(expression, holds)
            case _:
                return self._atom(expression, holds)

    def _atom(self, expression: Expr, holds: bool) -> list[Atom]:
        present = isinstance(expression, Call) and expression.function == "present"
        if not present and any(name in self.absent for name in names_of(expression)):
            return []
        choice = Choice(place(expression.span, "condition"), "true" if holds else "false")
        return [Atom(expression, holds, choice)]

    def _logical(self, expression: Logical, holds: bool) -> list[Atom]:
        if (expression.operator == "and") is holds:
            return [atom for each in expression.operands for atom in self.of(each, holds)]
        options = [
            str(i + 1)
            for i, each in enumerate(expression.operands)
            if self._presence(each) in (None, holds) and self.known(each) in (None, holds)
        ]
        taken = self._one_of(expression, options or ["1"])
        return self.of(expression.operands[int(taken) - 1], holds)

    def _presence(self, expression: Expr) -> bool | None:
        """Whether `present(x)` holds of an operand; None for all else."""
        match expression:
            case Unary(operator="not"):
                inner = self._presence(expression.operand)
                return None if inner is None else not inner
            case Call(function="present", arguments=(Name() as name,)) if name.id in self.optional:
                return name.id not in self.absent
            case _:
                return None

    def _chain(self, expression: Compare, holds: bool) -> list[Atom]:
        left, pairs = expression.first, []
        for sign, right in expression.rest:
            pairs.append(Compare(left, ((sign, right),), expression.span))
            left = right
        return self._logical(Logical("and", tuple(pairs), expression.span), holds)

    def _guard(self, call: Call, holds: bool) -> list[Atom]:
        guard = self.pack.guards[call.function]
        names = dict(zip(guard.parameters, call.arguments, strict=False))
        conditions = tuple(substitute(each, names) for each in guard.conditions)
        if len(conditions) == 1:
            return self.of(conditions[0], holds)
        return self._logical(Logical("and", conditions, call.span), holds)

    def _one_of(self, expression: Expr, options: tuple[str, ...] | list[str]) -> str:
        taken = pick(self.draw, options)
        self.choices.append(Choice(place(expression.span, "branch"), taken))
        return taken
