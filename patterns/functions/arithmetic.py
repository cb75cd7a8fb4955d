"""Arithmetic and comparison of constants in rules.  None stands for what is not known.

Floats are computed in the type of the operands, as the runtime does (f32 * f32 is f32, rounded
once); a number written in a rule takes that type.  Integers are computed exactly: the result is
int64. Overflow and division by zero give infinity and NaN, of which the engine lets numpy not
warn.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from qrewrite.engine.numerics.quantization import RANGES

from .quantized import ARRAYS, const, num

_FEW = 64
_LIMIT = 2.0**62


def eq(a: Any, b: Any) -> bool | None:
    """Whether all elements are equal, broadcast; two values of the graph may be one value.

    NaN is not equal to itself: `v == v` asks for that."""
    same, (a, b) = a is b and a is not None, (const(a), const(b))
    if a is None or b is None:
        return True if same else None
    if isinstance(a, ARRAYS) or isinstance(b, ARRAYS):
        return _arrays_equal(a, b)
    if isinstance(a, (tuple, list)) != isinstance(b, (tuple, list)):
        many, one = (a, b) if isinstance(a, (tuple, list)) else (b, a)
        return all(each == one for each in many)
    return bool(a == b) if not isinstance(a, (tuple, list)) else tuple(a) == tuple(b)


def _arrays_equal(a: Any, b: Any) -> bool:
    """Floats of two types are never equal: a scale is compared bit by bit."""
    a, b = _in_one_type(a, b)
    if a.dtype != b.dtype and not (is_integer(a) and is_integer(b)):
        return False
    try:
        return _every(np.equal(a, b))
    except ValueError:
        return False


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool | None]:
    def ordered(a: Any, b: Any) -> bool | None:
        if a.__class__ is float and b.__class__ is float:
            return bool(compare(a, b))
        a, b = num(a), num(b)
        if a is None or b is None or isinstance(a, str) or isinstance(b, str):
            return None
        if isinstance(a, (tuple, list)) or isinstance(b, (tuple, list)):
            a, b = np.asarray(a), np.asarray(b)
        try:
            return _every(compare(a, b))
        except ValueError:
            return False

    return ordered


def _every(result: Any) -> bool:
    """Whether all of some truth values are true; of few, Python is faster than numpy."""
    if not isinstance(result, np.ndarray):
        return bool(result)
    return all(result.ravel().tolist()) if result.size <= _FEW else bool(result.all())


lt = _ordered(operator.lt)
le = _ordered(operator.le)


def _in_one_type(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as arrays; a Python number in the type of the array beside it where that is a
    float's."""
    if not isinstance(a, ARRAYS):
        a = _like(a, b)
    elif not isinstance(b, ARRAYS):
        b = _like(b, a)
    return a, b


def _like(number: Any, other: Any) -> Any:
    kind = getattr(other, "dtype", None)
    if kind is None or kind.kind == "O" or is_integer(other):
        return np.asarray(number)
    return np.asarray(number, kind)


def _arithmetic(
    compute: Callable[[Any, Any], Any], size: Callable[[Any, Any], Any] | None
) -> Callable[[Any, Any], Any]:
    """``size`` bounds the result by the magnitudes of integer operands; None: a division."""

    def calculate(a: Any, b: Any) -> Any:
        a, b = const(a), const(b)
        if a is None or b is None:
            return None
        if not isinstance(a, ARRAYS) and not isinstance(b, ARRAYS):
            return _of_numbers(compute, a, b)
        a, b = _in_one_type(a, b)
        if is_integer(a) and is_integer(b):
            return _of_integers(compute, size, a, b)
        try:
            return compute(a, b)
        except (TypeError, ValueError):
            return None

    return calculate


def _of_numbers(compute: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and compute is operator.add:
        return (*a, *b)
    try:
        return compute(a, b)
    except (TypeError, ZeroDivisionError, OverflowError):
        return None


def _of_integers(
    compute: Callable[[Any, Any], Any], size: Callable[[Any, Any], Any] | None, a: Any, b: Any
) -> Any:
    """In int64; None where that overflows or divides by zero."""
    a, b = a.astype(np.int64), b.astype(np.int64)
    try:
        if size is None:
            return compute(a, b) if bool((b != 0).all()) else None
        magnitude = size(np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64)))
        return compute(a, b) if bool((magnitude < _LIMIT).all()) else None
    except ValueError:
        return None


def is_integer(array: Any) -> bool:
    """Whether an array has an integer type, of whatever width."""
    return array.dtype.kind in "biu" or array.dtype in RANGES


add = _arithmetic(operator.add, operator.add)
sub = _arithmetic(operator.sub, operator.add)
mul = _arithmetic(operator.mul, operator.mul)
div = _arithmetic(operator.truediv, None)
floordiv = _arithmetic(operator.floordiv, None)
mod = _arithmetic(operator.mod, None)

OPERATORS: dict[str, str] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floordiv",
    "%": "mod",
}


def neg(a: Any) -> Any:
    """``-a``; of integers exact."""
    return sub(0, a)


def index(base: Any, position: Any) -> Any:
    """An element of a list, shape or array; None if there is none."""
    base, position = const(base), const(position)
    if base is None or position is None:
        return None
    try:
        return base[int(position)]
    except (IndexError, TypeError, ValueError):
        return None
