"""What conditions say together: the element types and scalars they leave, and whether any are left.

A condition is either understood (types, scalars, ``and``, ``or``, ``not``, guards) or kept whole and
compared as text.  Nothing here guesses: what is not understood contradicts only its own negation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from qrewrite.engine.dtypes import NUMBERS, short_name

from ..pack import Pack, op_key
from ..syntax import Call, Compare, Expr, Field, ListOf, Literal, Logical, Member, Name, Unary
from .canonical import Renaming, canonical, relation
from .ranges import Range, Scalar

Types = frozenset[int]
NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
WHOLE = frozenset({"rank", "dim", "size", "opset"})
"""Functions whose value is a whole number."""


@dataclass
class Facts:
    """Grows by ``assume``; ``wrong`` says why the facts cannot all hold."""

    pack: Pack
    scalars: frozenset[str] = frozenset()
    """Names that are one number or text: captured attributes and labels."""
    types: dict[str, Types] = field(default_factory=dict)
    """By value (``x``, ``x.scale``); where there is no entry every type is possible."""
    same: list[tuple[str, str]] = field(default_factory=list)
    """Values of one type."""
    rows: list[tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]] = field(default_factory=list)
    """Values whose types together are one of the rows."""
    ranges: dict[str, Range] = field(default_factory=dict)
    truths: dict[str, bool] = field(default_factory=dict)
    always: frozenset[str] = frozenset()
    """Values that are there in every match."""
    open: set[str] = field(default_factory=set)
    """Disjunctions of which more than one side can hold, as text."""
    wrong: str = ""

    def copy(self) -> Facts:
        return Facts(
            self.pack,
            self.scalars,
            dict(self.types),
            list(self.same),
            list(self.rows),
            dict(self.ranges),
            dict(self.truths),
            self.always,
            set(self.open),
            self.wrong,
        )

    # -- conditions

    def assume(self, condition: Expr, names: Renaming, holds: bool = True) -> None:
        """Add that a condition holds (or does not)."""
        if self.wrong:
            return
        match condition:
            case Unary("not", operand):
                self.assume(operand, names, not holds)
            case Logical(operator, operands):
                if (operator == "and") == holds:
                    for operand in operands:
                        self.assume(operand, names, holds)
                else:
                    self._one_of(condition, names, holds)
            case Literal(bool(value)):
                if value is not holds:
                    self.wrong = "it is false" if holds else "it is true"
            case Call(function) if function in self.pack.guards:
                self._guard(condition, names, holds)
            case Compare():
                self._comparison(condition, names, holds)
            case Member():
                self._member(condition, names, holds)
            case _:
                self._truth(canonical(condition, names), holds)

    def _guard(self, call: Call, names: Renaming, holds: bool) -> None:
        guard = self.pack.guards[call.function]
        given = [canonical(each, names) for each in call.arguments]
        inner = dict(zip(guard.parameters, given, strict=False))
        if holds:
            for condition in guard.conditions:
                self.assume(condition, inner)
        elif len(guard.conditions) == 1:
            self.assume(guard.conditions[0], inner, False)
        else:
            self._truth(canonical(call, names), False)

    def _one_of(self, condition: Logical, names: Renaming, holds: bool) -> None:
        """At least one operand holds: what all the possible ones have in common is known."""
        possible = []
        for operand in condition.operands:
            branch = self.copy()
            branch.assume(operand, names, holds)
            branch.settle()
            if not branch.wrong:
                possible.append(branch)
        if not possible:
            self.wrong = "none of its sides can hold"
        elif len(possible) == 1:
            self._take(possible[0])
        else:
            self.open.add(canonical(condition, names) if holds else f"not {canonical(condition, names)}")
            self._join(possible)

    def _take(self, other: Facts) -> None:
        self.types, self.same, self.rows = other.types, other.same, other.rows
        self.ranges, self.truths, self.open = other.ranges, other.truths, other.open

    def _join(self, branches: Sequence[Facts]) -> None:
        for key in branches[0].types:
            if all(key in branch.types for branch in branches):
                self.types[key] = frozenset().union(*(each.types[key] for each in branches))
        shared = [
            key for key, value in branches[0].truths.items()
            if all(branch.truths.get(key) is value for branch in branches)
        ]
        self.truths.update({key: branches[0].truths[key] for key in shared})
        for key, found in branches[0].ranges.items():
            if all(branch.ranges.get(key) == found for branch in branches):
                self.ranges[key] = found

    def _truth(self, key: str, holds: bool) -> None:
        if key.startswith("present(") and key[8:-1] in self.always and not holds:
            self.wrong = f"{key[8:-1]} is always there"
        elif self.truths.setdefault(key, holds) is not holds:
            self.wrong = "another condition says the opposite"

    # -- comparisons

    def _comparison(self, condition: Compare, names: Renaming, holds: bool) -> None:
        if not holds and len(condition.rest) > 1:
            self._truth(canonical(condition, names), False)
            return
        left = condition.first
        for operator, right in condition.rest:
            self._compare(left, operator, right, names, holds)
            left = right

    def _compare(
        self, left: Expr, operator: str, right: Expr, names: Renaming, holds: bool
    ) -> None:
        if self.wrong:
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
                self.wrong = "it compares two constants"
        elif not holds or not self._bound(left, stated, right, names):
            self._truth(text, holds)

    def _bound(self, left: Expr, operator: str, right: Expr, names: Renaming) -> bool:
        """Bounds of a tensor hold for all its elements; they are not negated."""
        value = self._constant(right)
        if not isinstance(value, (int, float)) or operator == "!=":
            return False
        self._restrict(left, operator, value, names)
        self._truth(relation(canonical(left, names), operator, canonical(right, names)), True)
        return True

    def _restrict(self, left: Expr, operator: str, value: Scalar, names: Renaming) -> None:
        key = canonical(left, names)
        before = self.range_of(left, names)
        after = before.compared(operator, value)
        self._set_range(key, before, after)

    def _set_range(self, key: str, before: Range, after: Range) -> None:
        if after.is_empty():
            self.wrong = f"{key} is {before.words()}"
        self.ranges[key] = after

    def range_of(self, expression: Expr, names: Renaming) -> Range:
        key = canonical(expression, names)
        known = self.ranges.get(key)
        if known is not None:
            return known
        match expression:
            case Field(Name("options"), option) if option in self.pack.options:
                choices = self.pack.options[option].choices
                return Range(choices=frozenset(choices)) if choices else Range()
            case Call(function) if function in WHOLE:
                return Range(low=0, whole=True)
        return Range()

    def _is_scalar(self, expression: Expr, names: Renaming) -> bool:
        match expression:
            case Name(name):
                return name == "opset" or names.get(name, name) in self.scalars
            case Field(Name(base), part):
                base = names.get(base, base)
                return base == "options" or base in self.scalars or part in ("axis", "block_size")
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

    # -- element types

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
            self._truth(text, True)
        elif isinstance(right, frozenset):
            self.restrict_type(left, right if operator == "==" else self._all_but(right))
        elif operator == "==":
            self.same.append((left, right))
        else:
            self._truth(relation(f"{left}.type", "==", f"{right}.type"), False)

    def _all_but(self, types: Types) -> Types:
        return frozenset(NUMBERS.values()) - types

    def restrict_type(self, key: str, types: Types) -> None:
        before = self.types.get(key)
        after = types if before is None else before & types
        if not after and before is not None:
            self.wrong = f"{key}.type is {type_words(before)}"
        self.types[key] = after

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
                self.restrict_type(key, all_types if within else self._all_but(all_types))
        elif self._is_scalar(operand, names) and _all_known(
            values := [self._constant(choice) for choice in choices]
        ):
            before = self.range_of(operand, names)
            known = frozenset(value for value in values if value is not None)
            after = before.among(known) if within else before.outside(known)
            self._set_range(canonical(operand, names), before, after)
        else:
            text = canonical(Member(operand, choices, False, condition.span), names)
            self._truth(text, within)

    def _in_op_set(self, operand: Expr, name: str, names: Renaming, within: bool) -> None:
        members = self.pack.op_sets.get(name)
        if members is None or not self._is_scalar(operand, names):
            self._truth(f"({canonical(operand, names)} in {name})", within)
            return
        ops: frozenset[Scalar] = frozenset(op_key(each) for each in members.ops)
        before = self.range_of(operand, names)
        after = before.among(ops) if within else before.outside(ops)
        self._set_range(canonical(operand, names), before, after)

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
        self.rows.append((tuple(key for key in keys if isinstance(key, str)), tuple(rows)))
        return True

    def settle(self) -> None:
        """Carry types over from value to value until nothing changes."""
        changed = True
        while changed and not self.wrong:
            changed = False
            for left, right in self.same:
                changed = self._equal(left, right) or changed
            for keys, rows in self.rows:
                changed = self._in_rows(keys, rows) or changed

    def _equal(self, left: str, right: str) -> bool:
        first, second = self.types.get(left), self.types.get(right)
        if first == second:
            return False
        if first is None or second is None:
            self.types[left] = self.types[right] = first if second is None else second  # type: ignore[assignment]  # one is a set
            return True
        common = first & second
        if not common:
            words = f"{left}.type is {type_words(first)}, {right}.type {type_words(second)}"
            self.wrong = words
        changed = common != first or common != second
        self.types[left] = self.types[right] = common
        return changed

    def _in_rows(self, keys: Sequence[str], rows: Sequence[tuple[int, ...]]) -> bool:
        possible = [
            row for row in rows
            if len(row) == len(keys)
            and all(kind in self.types.get(key, {kind}) for key, kind in zip(keys, row, strict=True))
        ]
        if not possible:
            known = (f"{key}.type is {type_words(self.types[key])}" for key in keys if key in self.types)
            self.wrong = ", ".join(known)
            return False
        changed = False
        for position, key in enumerate(keys):
            left = frozenset(row[position] for row in possible)
            if self.types.get(key) != left:
                self.types[key] = left
                changed = True
        return changed


def implied(facts: Facts, condition: Expr, names: Renaming) -> bool:
    """Where the facts hold the condition holds, too."""
    against = facts.copy()
    against.assume(condition, names, False)
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


def type_words(types: Iterable[int]) -> str:
    """``u8``, ``u8 or i8``."""
    names = [short_name(each) for each in sorted(types)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


