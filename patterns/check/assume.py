"""Adds conditions to facts.

A condition is either understood (types, scalars, ``and``, ``or``, ``not``, guards) or kept whole
and compared as text.  Nothing is guessed: what is not understood contradicts only its negation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qrewrite.engine.dtypes import NUMBERS

from ..packs.pack import op_key
from ..syntax import Call, Compare, Expr, Field, ListOf, Literal, Logical, Member, Name, Unary
from .canonical import Renaming, canonical, relation
from .facts import Facts, Types
from .ranges import Range, Scalar

NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
WHOLE = frozenset({"rank", "dim", "size", "opset"})
"""Functions whose value is a whole number."""


def assume(facts: Facts, condition: Expr, names: Renaming, holds: bool = True) -> None:
    """Add that a condition holds (or does not); names stand for what ``names`` says."""
    _Assumption(facts).condition(condition, names, holds)


def implied(facts: Facts, condition: Expr, names: Renaming) -> bool:
    """Where the facts hold the condition holds, too."""
    against = facts.copy()
    assume(against, condition, names, False)
    against.settle()
    return bool(against.wrong)


def _all_known(values: Sequence[Scalar | None]) -> bool:
    return all(value is not None for value in values)


def _decide(left: object, operator: str, right: object) -> bool | None:
    if operator in ("==", "!="):
        return (left == right) is (operator == "==")
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return {"<": left < right, "<=": left <= right, ">": left > right}.get(
            operator, left >= right
        )
    return None


@dataclass(frozen=True)
class _Assumption:
    _facts: Facts

    def condition(self, condition: Expr, names: Renaming, holds: bool = True) -> None:
        """Add that a condition holds (or does not)."""
        if self._facts.wrong:
            return
        match condition:
            case Unary("not", operand):
                self.condition(operand, names, not holds)
            case Logical(operator, operands):
                if (operator == "and") == holds:
                    for operand in operands:
                        self.condition(operand, names, holds)
                else:
                    self._one_of(condition, names, holds)
            case Literal(bool(value)):
                if value is not holds:
                    self._facts.wrong = "it is false" if holds else "it is true"
            case Call(function) if function in self._facts.pack.guards:
                self._guard(condition, names, holds)
            case Call("per_tensor", arguments):
                self._facts.all_true(
                    [f"per_tensor({canonical(each, names)})" for each in arguments], holds
                )
            case Compare():
                self._comparison(condition, names, holds)
            case Member():
                self._member(condition, names, holds)
            case _:
                self._facts.truth(canonical(condition, names), holds)

    def _guard(self, call: Call, names: Renaming, holds: bool) -> None:
        guard = self._facts.pack.guards[call.function]
        given = [canonical(each, names) for each in call.arguments]
        inner = dict(zip(guard.parameters, given, strict=False))
        if holds:
            for condition in guard.conditions:
                self.condition(condition, inner)
        elif len(guard.conditions) == 1:
            self.condition(guard.conditions[0], inner, False)
        else:
            self._facts.truth(canonical(call, names), False)

    def _one_of(self, condition: Logical, names: Renaming, holds: bool) -> None:
        """At least one operand holds: what all the possible ones have in common is known."""
        possible = []
        for operand in condition.operands:
            branch = self._facts.copy()
            assume(branch, operand, names, holds)
            branch.settle()
            if not branch.wrong:
                possible.append(branch)
        if not possible:
            self._facts.wrong = "none of its sides can hold"
        elif len(possible) == 1:
            self._facts.take(possible[0])
        else:
            self._facts.open.add(
                canonical(condition, names) if holds else f"not {canonical(condition, names)}"
            )
            self._facts.join(possible)

    def _comparison(self, condition: Compare, names: Renaming, holds: bool) -> None:
        if not holds and len(condition.rest) > 1:
            self._facts.truth(canonical(condition, names), False)
            return
        left = condition.first
        for operator, right in condition.rest:
            self._compare(left, operator, right, names, holds)
            left = right

    def _compare(
        self, left: Expr, operator: str, right: Expr, names: Renaming, holds: bool
    ) -> None:
        if self._facts.wrong:
            return
        text = relation(canonical(left, names), operator, canonical(right, names))
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, operator, right = right, MIRRORED[operator], left
        stated = operator if holds else NEGATED[operator]
        first, second = self._typed(left, names), self._typed(right, names)
        if first is not None and second is not None and stated in ("==", "!="):
            self._compare_types(first, stated, second, text)
        elif self._is_scalar(left, names) and (value := self._constant(right)) is not None:
            self._restrict(left, stated, value, names)
        elif isinstance(left, Literal) and isinstance(right, Literal):
            if _decide(left.value, operator, right.value) is not holds:
                self._facts.wrong = "it compares two constants"
        elif not holds or not self._bound(left, stated, right, names):
            self._facts.truth(text, holds)

    def _bound(self, left: Expr, operator: str, right: Expr, names: Renaming) -> bool:
        """Bounds of a tensor hold for all its elements; they are not negated."""
        value = self._constant(right)
        if not isinstance(value, (int, float)) or operator == "!=":
            return False
        self._restrict(left, operator, value, names)
        self._facts.truth(relation(canonical(left, names), operator, canonical(right, names)), True)
        return True

    def _restrict(self, left: Expr, operator: str, value: Scalar, names: Renaming) -> None:
        key = canonical(left, names)
        before = self.range_of(left, names)
        after = before.compared(operator, value)
        self._facts.set_range(key, before, after)

    def range_of(self, expression: Expr, names: Renaming) -> Range:
        key = canonical(expression, names)
        known = self._facts.ranges.get(key)
        if known is not None:
            return known
        match expression:
            case Field(Name("options"), option) if option in self._facts.pack.options:
                choices = self._facts.pack.options[option].choices
                return Range(choices=frozenset(choices)) if choices else Range()
            case Call(function) if function in WHOLE:
                return Range(low=0, whole=True)
        return Range()

    def _is_scalar(self, expression: Expr, names: Renaming) -> bool:
        match expression:
            case Name(name):
                return name == "opset" or names.get(name, name) in self._facts.scalars
            case Field(Name(base), part):
                base = names.get(base, base)
                return (
                    base == "options"
                    or base in self._facts.scalars
                    or part in ("axis", "block_size")
                )
            case Call(function):
                return function in WHOLE
        return False

    def _constant(self, expression: Expr) -> Scalar | None:
        """The value of a literal; an op's name beside a label is its text."""
        match expression:
            case Literal(value):
                return value
            case Name(name) if name not in NUMBERS and name[:1].isupper():
                return name
        return None

    def _typed(self, expression: Expr, names: Renaming) -> str | Types | None:
        """The value whose type an expression is, or the type that it names."""
        match expression:
            case Field(base, "type"):
                return canonical(base, names)
            case Name(name) if names.get(name, name) in NUMBERS:
                return frozenset({NUMBERS[names.get(name, name)]})
        return None

    def _compare_types(
        self, left: str | Types, operator: str, right: str | Types, text: str
    ) -> None:
        if isinstance(left, frozenset):
            left, right = right, left
        if isinstance(left, frozenset):
            self._facts.truth(text, True)
        elif isinstance(right, frozenset):
            self._facts.restrict_type(left, right if operator == "==" else self._all_but(right))
        elif operator == "==":
            self._facts.same.append((left, right))
        elif self._facts.always_equal(left, right):
            self._facts.wrong = f"{left}.type is {right}.type"
        else:
            self._facts.truth(relation(f"{left}.type", "==", f"{right}.type"), False)

    def _all_but(self, types: Types) -> Types:
        return frozenset(NUMBERS.values()) - types

    def _member(self, condition: Member, names: Renaming, holds: bool) -> None:
        within = holds is not condition.negated
        choices = condition.choices
        operand = condition.operand
        if isinstance(choices, str):
            self._in_op_set(operand, choices, names, within)
        elif isinstance(operand, ListOf) and within and self._typed_row(operand, choices, names):
            return
        elif (key := self._typed(operand, names)) is not None and isinstance(key, str):
            types = [self._typed(choice, names) for choice in choices]
            named = [each for each in types if isinstance(each, frozenset)]
            if len(named) == len(types):
                all_types: Types = frozenset().union(*named)
                self._facts.restrict_type(key, all_types if within else self._all_but(all_types))
        elif self._is_scalar(operand, names) and _all_known(
            values := [self._constant(choice) for choice in choices]
        ):
            before = self.range_of(operand, names)
            known = frozenset(value for value in values if value is not None)
            after = before.among(known) if within else before.outside(known)
            self._facts.set_range(canonical(operand, names), before, after)
        else:
            text = canonical(Member(operand, choices, False, condition.span), names)
            self._facts.truth(text, within)

    def _in_op_set(self, operand: Expr, name: str, names: Renaming, within: bool) -> None:
        members = self._facts.pack.op_sets.get(name)
        if members is None or not self._is_scalar(operand, names):
            self._facts.truth(f"({canonical(operand, names)} in {name})", within)
            return
        ops: frozenset[Scalar] = frozenset(op_key(each) for each in members.ops)
        before = self.range_of(operand, names)
        after = before.among(ops) if within else before.outside(ops)
        self._facts.set_range(canonical(operand, names), before, after)

    def _typed_row(self, operand: ListOf, choices: Iterable[Expr], names: Renaming) -> bool:
        keys = [self._typed(element, names) for element in operand.elements]
        rows = []
        for choice in choices:
            if not isinstance(choice, ListOf):
                return False
            row = [self._typed(element, names) for element in choice.elements]
            if not all(isinstance(each, frozenset) for each in row):
                return False
            rows.append(tuple(min(each) for each in row if isinstance(each, frozenset)))
        if not all(isinstance(key, str) for key in keys):
            return False
        self._facts.rows.append((tuple(key for key in keys if isinstance(key, str)), tuple(rows)))
        return True
