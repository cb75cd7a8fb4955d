"""What is known together: element types, scalars, and conditions known as text alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from qrewrite.engine.dtypes import short_name

from ..packs.pack import Pack
from .ranges import Range

Types = frozenset[int]


@dataclass
class Facts:
    """Grows by what is assumed; ``wrong`` says why the facts cannot all hold."""

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

    def take(self, other: Facts) -> None:
        """Become what another set of facts is."""
        self.types, self.same, self.rows = other.types, other.same, other.rows
        self.ranges, self.truths, self.open = other.ranges, other.truths, other.open

    def join(self, branches: Sequence[Facts]) -> None:
        """Add what all branches say, one of which holds."""
        for key in branches[0].types:
            if all(key in branch.types for branch in branches):
                self.types[key] = frozenset().union(*(each.types[key] for each in branches))
        shared = [
            key
            for key, value in branches[0].truths.items()
            if all(branch.truths.get(key) is value for branch in branches)
        ]
        self.truths.update({key: branches[0].truths[key] for key in shared})
        for key, found in branches[0].ranges.items():
            if all(branch.ranges.get(key) == found for branch in branches):
                self.ranges[key] = found

    def all_true(self, keys: Sequence[str], holds: bool) -> None:
        """One condition on several things holds for each of them."""
        if holds or len(keys) == 1:
            for key in keys:
                self.truth(key, holds)
        elif all(self.truths.get(key) for key in keys):
            self.wrong = "other conditions say the opposite"

    def truth(self, key: str, holds: bool) -> None:
        """A condition known as text alone holds, or does not."""
        if key.startswith("present(") and key[8:-1] in self.always and not holds:
            self.wrong = f"{key[8:-1]} is always there"
        elif self.truths.setdefault(key, holds) is not holds:
            self.wrong = "another condition says the opposite"

    def set_range(self, key: str, before: Range, after: Range) -> None:
        """A scalar of one range is now known to be in a part of it."""
        if after.is_empty():
            self.wrong = f"{key} is {before.words()}"
        self.ranges[key] = after

    def restrict_type(self, key: str, types: Types) -> None:
        """The type of a value is one of these."""
        before = self.types.get(key)
        after = types if before is None else before & types
        if not after and before is not None:
            self.wrong = f"{_shown(key)} is {type_words(before)}"
        self.types[key] = after

    def always_equal(self, left: str, right: str) -> bool:
        """Two values are known to have one type, by a condition or since only one is left."""
        types = self.types.get(left)
        if types is not None and len(types) == 1 and self.types.get(right) == types:
            return True
        return (left, right) in self.same or (right, left) in self.same

    def settle(self) -> None:
        """Carry types over from value to value until nothing changes."""
        changed = True
        while changed and not self.wrong:
            changed = False
            for left, right in self.same:
                if not self.wrong:
                    changed = self._equal(left, right) or changed
            for keys, rows in self.rows:
                if not self.wrong:
                    changed = self._in_rows(keys, rows) or changed

    def _equal(self, left: str, right: str) -> bool:
        first, second = self.types.get(left), self.types.get(right)
        if first == second:
            return False
        if first is None or second is None:
            self.types[left] = self.types[right] = first or second or frozenset()
            return True
        common = first & second
        if not common:
            self.wrong = (
                f"{_shown(left)} is {type_words(first)}, {_shown(right)} is {type_words(second)}"
            )
        changed = common != first or common != second
        self.types[left] = self.types[right] = common
        return changed

    def _in_rows(self, keys: Sequence[str], rows: Sequence[tuple[int, ...]]) -> bool:
        possible = [
            row
            for row in rows
            if len(row) == len(keys)
            and all(
                kind in self.types.get(key, {kind}) for key, kind in zip(keys, row, strict=True)
            )
        ]
        if not possible:
            known = (
                f"{_shown(key)} is {type_words(self.types[key])}"
                for key in keys
                if key in self.types
            )
            self.wrong = ", ".join(known)
            return False
        changed = False
        for position, key in enumerate(keys):
            left = frozenset(row[position] for row in possible)
            if self.types.get(key) != left:
                self.types[key] = left
                changed = True
        return changed


def _shown(key: str) -> str:
    """The type of a value as messages name it; ``@2:5:…`` is the node written there."""
    if not key.startswith("@"):
        return f"{key}.type"
    line, column = key[1:].split(":")[:2]
    return f"what stands at {line}:{column}"


def type_words(types: Iterable[int]) -> str:
    """``u8``, ``u8 or i8``."""
    names = [short_name(each) for each in sorted(types)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
