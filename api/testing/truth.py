"""Conditions of rules evaluated on a graph in the making; what cannot be told is UNKNOWN.

A second reading of the language, used to aim: whether a rule fires is for the engine to say.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from qrewrite.patterns.syntax import (
    Binary,
    Call,
    Compare,
    Conditional,
    Expr,
    Field,
    Index,
    ListOf,
    Literal,
    Logical,
    Member,
    Name,
    Unary,
)

from .truth_functions import FUNCTIONS, Tensor, Unknown, array_of
from .world import NUMPY, Array, World

UNKNOWN = object()

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def evaluate(expression: Expr, world: World) -> Any:
    """The value of an expression, or UNKNOWN.  Numbers may overflow: numpy must be told so."""
    try:
        return _Reader(world).read(expression)
    except (Unknown, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        return UNKNOWN


def number(expression: Expr, world: World) -> Array | None:
    """The numeric value of an expression; None if it has none."""
    value = evaluate(expression, world)
    if value is UNKNOWN:
        return None
    try:
        return array_of(value)
    except (Unknown, TypeError, ValueError):
        return None


def holds(expression: Expr, world: World) -> bool | None:
    """Whether a condition holds; None: unknown."""
    value = evaluate(expression, world)
    if value is True or value is False:
        return value
    return None if value is UNKNOWN else bool(np.all(value))


class _Reader:
    def __init__(self, world: World) -> None:
        self.world = world

    def read(self, expression: Expr) -> Any:
        read = _READ.get(type(expression))
        if read is None:
            raise Unknown
        return read(self, expression)

    def literal(self, expression: Literal) -> Any:
        return expression.value

    def elements(self, expression: ListOf) -> tuple[Any, ...]:
        return tuple(self.read(each) for each in expression.elements)

    def unary(self, expression: Unary) -> Any:
        value = self.read(expression.operand)
        return not np.all(value) if expression.operator == "not" else -array_of(value)

    def logical(self, expression: Logical) -> bool:
        values = (bool(np.all(self.read(each))) for each in expression.operands)
        return all(values) if expression.operator == "and" else any(values)

    def conditional(self, expression: Conditional) -> Any:
        taken = np.all(self.read(expression.condition))
        return self.read(expression.then if taken else expression.otherwise)

    def index(self, expression: Index) -> Any:
        return self.read(expression.base)[int(self.read(expression.index))]

    def name(self, expression: Name) -> Any:
        return self._name(expression.id)

    def _name(self, name: str) -> Any:
        structure = self.world.structure
        if name in self.world.dtypes:
            return Tensor(self.world, name)
        if structure.labels.get(name):
            return structure.labels[name][0]
        owner = structure.attribute_owner(name)
        if owner is not None:
            return self.attribute(*owner)
        if name == "opset" and self.world.opset:
            return self.world.opset
        if name in NUMPY:
            return name
        raise Unknown

    def attribute(self, node: Any, name: str) -> Any:
        from .schemas import attribute_default

        if not self.world.is_decided(node, name):
            raise Unknown
        stated = self.world.stated(node)
        if name in stated:
            value = stated[name]
            return tuple(value) if isinstance(value, list) else value
        return attribute_default(node.op, name, self.world.opset)

    def field(self, expression: Field) -> Any:
        if isinstance(expression.base, Name) and expression.base.id == "options":
            return self.world.options[expression.name]
        base = self.read(expression.base)
        if not isinstance(base, Tensor):
            return self.attribute(base, expression.name)
        slot = f"{base.slot}.{expression.name}"
        if expression.name == "type":
            return base.dtype
        if expression.name in ("scale", "zero_point"):
            if slot in self.world.dtypes:
                return Tensor(self.world, slot)
            return np.zeros(self.world.shapes[f"{base.slot}.scale"], np.int64)
        return self._name(slot)

    def binary(self, expression: Binary) -> Any:
        left, right = self.read(expression.left), self.read(expression.right)
        if isinstance(left, tuple) and isinstance(right, tuple) and expression.operator == "+":
            return left + right
        return ARITHMETIC[expression.operator](array_of(left), array_of(right))

    def compare(self, expression: Compare) -> bool:
        left, result = self.read(expression.first), True
        for sign, right_expression in expression.rest:
            right = self.read(right_expression)
            result = result and self._relation(sign, left, right)
            left = right
        return result

    def _relation(self, sign: str, left: Any, right: Any) -> bool:
        if left is None or right is None or isinstance(left, str) or isinstance(right, str):
            return bool(COMPARISONS[sign](left, right))
        if sign == "!=":
            return not self._relation("==", left, right)
        return bool(np.all(COMPARISONS[sign](array_of(left), array_of(right))))

    def member(self, expression: Member) -> bool:
        operand = self.read(expression.operand)
        if isinstance(expression.choices, str):
            raise Unknown
        found = any(self._equal(operand, self.read(choice)) for choice in expression.choices)
        return found is not expression.negated

    def _equal(self, one: Any, other: Any) -> bool:
        if isinstance(one, tuple) and isinstance(other, tuple):
            return len(one) == len(other) and all(map(self._equal, one, other))
        return self._relation("==", one, other)

    def call(self, call: Call) -> Any:
        if call.function == "present":
            return _is_present(call, self.world)
        if call.function == "opset":
            return 1  # of com.microsoft
        arguments = [self.read(each) for each in call.arguments]
        keywords = {name: self.read(each) for name, each in call.keywords}
        function = FUNCTIONS.get(call.function)
        if function is None:
            raise Unknown
        return function(*arguments, **keywords)


_READ: Mapping[type, Callable[[_Reader, Any], Any]] = {
    Literal: _Reader.literal,
    Name: _Reader.name,
    Field: _Reader.field,
    ListOf: _Reader.elements,
    Unary: _Reader.unary,
    Binary: _Reader.binary,
    Compare: _Reader.compare,
    Member: _Reader.member,
    Logical: _Reader.logical,
    Conditional: _Reader.conditional,
    Index: _Reader.index,
    Call: _Reader.call,
}


def _is_present(call: Call, world: World) -> bool:
    argument = call.arguments[0]
    if isinstance(argument, Name):
        name = argument.id
    elif isinstance(argument, Field) and isinstance(argument.base, Name):
        name = f"{argument.base.id}.{argument.name}"
    else:
        raise Unknown
    owner = world.structure.attribute_owner(name)
    if owner is not None:
        if not world.is_decided(*owner):
            raise Unknown
        return owner[1] in world.stated(owner[0])
    if name in world.structure.absent:
        return False
    return name in world.structure.captures or name in world.dtypes
