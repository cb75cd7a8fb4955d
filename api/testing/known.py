"""What of a condition is known before anything is settled: options, and what others say already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from qrewrite.patterns.syntax import Compare, Expr, Logical, Name, Unary

from .truth import holds
from .world import NUMPY, World

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Known:
    """Conditions required together, and whether another one can hold beside them."""

    def __init__(self, world: World, required: Sequence[tuple[Expr, bool]]) -> None:
        self.world = world
        self._required = {expression for expression, wanted in required if wanted}
        self._types = {
            each.first: each.rest[0][1] for each in self._required if _is_type_equality(each)
        }

    def holds(self, condition: Expr) -> bool | None:
        """None: not known."""
        value = holds(condition, self.world)
        if value is not None:
            return value
        if isinstance(condition, Logical):
            decisive = condition.operator == "or"
            parts = [self.holds(each) for each in condition.operands]
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        if condition in self._required:
            return True
        if _opposite(condition) in self._required:
            return False
        if _is_type_equality(condition) and condition.first in self._types:
            return self._types[condition.first] == condition.rest[0][1]
        return None


def _is_type_equality(condition: Expr) -> TypeGuard[Compare]:
    if not isinstance(condition, Compare) or condition.rest[0][0] != "==":
        return False
    other = condition.rest[0][1]
    return isinstance(other, Name) and other.id in NUMPY


def _opposite(condition: Expr) -> Expr | None:
    if isinstance(condition, Unary) and condition.operator == "not":
        return condition.operand
    if isinstance(condition, Compare) and len(condition.rest) == 1:
        sign, right = condition.rest[0]
        return Compare(condition.first, ((OPPOSITE[sign], right),), condition.span)
    return Unary("not", condition, condition.span)
