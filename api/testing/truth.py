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

from .world import NUMPY, Array, World, limits

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


class _Unknown(Exception):
    pass


class Tensor:
    """A captured value as an operand of a function or of arithmetic."""

    def __init__(self, world: World, slot: str) -> None:
        self.world = world
        self.slot = slot

    def array(self) -> Array:
        if not self.world.is_constant(self.slot):
            raise _Unknown
        content = self.world.contents[self.slot]
        return np.asarray(content, np.float64 if content.dtype.kind in "fV" else np.int64)

    @property
    def dtype(self) -> str:
        return self.world.dtypes[self.slot]


def evaluate(expression: Expr, world: World) -> Any:
    """The value of an expression, or UNKNOWN.  Numbers may overflow: numpy must be told so."""
    try:
        return _Reader(world).read(expression)
    except (_Unknown, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        return UNKNOWN


def number(expression: Expr, world: World) -> Array | None:
    """The numeric value of an expression; None if it has none."""
    value = evaluate(expression, world)
    if value is UNKNOWN:
        return None
    try:
        return _array(value)
    except (_Unknown, TypeError, ValueError):
        return None


def holds(expression: Expr, world: World) -> bool | None:
    """Whether a condition holds; None: unknown."""
    value = evaluate(expression, world)
    if value is True or value is False:
        return value
    return None if value is UNKNOWN else bool(np.all(value))


def _array(value: Any) -> Array:
    if isinstance(value, Tensor):
        return value.array()
    if isinstance(value, (int, float, np.ndarray, np.generic, list, tuple)):
        return np.asarray(value)
    raise _Unknown


class _Reader:
    def __init__(self, world: World) -> None:
        self.world = world

    def read(self, expression: Expr) -> Any:
        read = _READ.get(type(expression))
        if read is None:
            raise _Unknown
        return read(self, expression)

    def literal(self, expression: Literal) -> Any:
        return expression.value

    def elements(self, expression: ListOf) -> tuple[Any, ...]:
        return tuple(self.read(each) for each in expression.elements)

    def unary(self, expression: Unary) -> Any:
        value = self.read(expression.operand)
        return not np.all(value) if expression.operator == "not" else -_array(value)

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
        raise _Unknown

    def attribute(self, node: Any, name: str) -> Any:
        from .schemas import attribute_default

        if not self.world.is_decided(node, name):
            raise _Unknown
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
        return ARITHMETIC[expression.operator](_array(left), _array(right))

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
        return bool(np.all(COMPARISONS[sign](_array(left), _array(right))))

    def member(self, expression: Member) -> bool:
        operand = self.read(expression.operand)
        if isinstance(expression.choices, str):
            raise _Unknown
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
            raise _Unknown
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
        raise _Unknown
    owner = world.structure.attribute_owner(name)
    if owner is not None:
        if not world.is_decided(*owner):
            raise _Unknown
        return owner[1] in world.stated(owner[0])
    if name in world.structure.absent:
        return False
    return name in world.structure.captures or name in world.dtypes


# ---- functions --------------------------------------------------------------------------------


def scale_of(tensor: Tensor) -> Tensor:
    return Tensor(tensor.world, f"{tensor.slot}.scale")


def zero_point_of(tensor: Tensor) -> Array:
    slot = f"{tensor.slot}.zero_point"
    if slot in tensor.world.dtypes:
        return Tensor(tensor.world, slot).array()
    return np.zeros(tensor.world.shapes[f"{tensor.slot}.scale"], np.int64)


def _per_tensor(*tensors: Tensor) -> bool:
    shapes = [t.world.shapes[f"{t.slot}.scale"] for t in tensors]
    return all(shape in ((), (1,)) for shape in shapes)


def _per_axis(tensor: Tensor, axis: Any) -> bool:
    world = tensor.world
    if len(world.shapes[f"{tensor.slot}.scale"]) != 1:
        return False
    owner = world.structure.attribute_owner(f"{tensor.slot}.axis")
    if owner is None or not world.is_decided(*owner):
        raise _Unknown
    stated = int(world.stated(owner[0]).get("axis", 1))
    rank = len(world.shapes[tensor.slot])
    return stated % rank == int(_array(axis)) % rank


def _is_input(tensor: Tensor) -> bool:
    world = tensor.world
    if world.structure.producer(tensor.slot) is not None or tensor.slot in world.computed:
        return False
    if world.is_constant(tensor.slot) is None:
        raise _Unknown
    return not world.is_constant(tensor.slot)


def _is_output(tensor: Tensor) -> bool:
    structure = tensor.world.structure
    if tensor.slot in structure.shown | structure.hidden:
        return tensor.slot in structure.shown
    if tensor.slot in structure.roots:
        raise _Unknown  # what stands around the pattern is settled last
    return False


def _use_count(tensor: Tensor) -> int:
    structure = tensor.world.structure
    if tensor.slot in structure.roots or tensor.slot in structure.shared:
        raise _Unknown
    return len(list(structure.consumers(tensor.slot)))


def _same(one: Any, other: Any) -> bool:
    left, right = _array(one), _array(other)
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=True))


def _fits(tensor: Any, dtype: str) -> bool:
    low, high = limits(dtype)
    values = _array(tensor)
    return bool(np.all((values >= low) & (values <= high) & (values == np.rint(values))))


def _is_const(*values: Any) -> bool:
    known = [v.world.is_constant(v.slot) for v in values if isinstance(v, Tensor)]
    if None in known:
        raise _Unknown
    return all(known)


def _same_grid(*tensors: Tensor) -> bool:
    first = tensors[0]
    for other in tensors[1:]:
        if other.dtype != first.dtype:
            return False
        one, two = scale_of(first).array(), scale_of(other).array()
        zeros = zero_point_of(first), zero_point_of(other)
        if one.shape != two.shape and not (one.size == two.size == 1):
            return False
        if not np.array_equal(one.ravel(), two.ravel()):
            return False
        if not np.array_equal(np.ravel(zeros[0]), np.ravel(zeros[1])):
            return False
    return True


def _close(one: Any, other: Any, relative: float = 1e-6) -> bool:
    left, right = _array(one), _array(other)
    return bool(np.all(np.abs(left - right) <= relative * np.maximum(np.abs(left), np.abs(right))))


def _shape(tensor: Tensor | Array) -> tuple[int, ...]:
    return tensor.world.shapes[tensor.slot] if isinstance(tensor, Tensor) else np.shape(tensor)


def _quantize_like(value: Any, tensor: Tensor) -> Array:
    low, high = limits(tensor.dtype)
    scale = scale_of(tensor).array().astype(np.float32)
    codes = np.rint(_array(value).astype(np.float32) / scale) + zero_point_of(tensor)
    return np.asarray(np.clip(np.nan_to_num(codes, nan=low), low, high))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "per_tensor": _per_tensor,
    "same_grid": _same_grid,
    "per_axis": _per_axis,
    "is_const": _is_const,
    "is_input": _is_input,
    "is_output": _is_output,
    "use_count": _use_count,
    "same": _same,
    "fits": _fits,
    "bits": lambda dtype: int(dtype[1:]),
    "is_signed": lambda dtype: dtype[0] == "i",
    "positive": lambda v: bool(np.all((_array(v) > 0) & np.isfinite(_array(v)))),
    "finite": lambda v: bool(np.all(np.isfinite(_array(v)))),
    "all_equal": lambda v: bool(np.all(_array(v) == _array(v).ravel()[:1])),
    "sqrt": lambda v: np.sqrt(_array(v)),
    "round_even": lambda v: np.rint(_array(v)),
    "constant": lambda value, dtype: np.asarray(value),
    "axes_of": lambda axes, rank: tuple(sorted({int(a) % rank for a in _array(axes)})),
    "full": lambda dims, value, dtype: np.full([int(n) for n in dims], value),
    "close": _close,
    "rank": lambda t: len(_shape(t)),
    "dim": lambda t, axis: _shape(t)[int(axis)],
    "size": lambda t: int(np.prod(_shape(t))),
    "shape": _shape,
    "abs": lambda v: np.abs(_array(v)),
    "max": lambda *vs: max(_array(v).max() for v in vs),
    "min": lambda *vs: min(_array(v).min() for v in vs),
    "lowest": lambda dtype: limits(dtype)[0],
    "highest": lambda dtype: limits(dtype)[1],
    "quantize_like": _quantize_like,
    "range": lambda *bounds: tuple(range(*(int(b) for b in bounds))),
    "len": len,
}
