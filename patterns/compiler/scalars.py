"""The arithmetic of conditions, made for scales of one element: Python floats instead of arrays.

A product, quotient, sum or difference of two float32 numbers, computed in float64 and rounded
once more, is that of float32: float64 has more than twice its digits.  float16 is computed in
float32, as the kernels do.  What is no single float goes the way of ``functions.arithmetic``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from ctypes import c_float
from typing import Any

import numpy as np

from qrewrite.engine import dtypes
from qrewrite.engine.graph import Value
from qrewrite.engine.inference import shape_of, type_of

from ..functions import arithmetic
from ..functions.quantized import ARRAYS, const, shape_part

_FEW = 32
"""Elements up to which a loop of Python is faster than numpy."""
_SINGLE_FLOATS = frozenset(
    dtypes.numpy_dtype(dtypes.number(name)) for name in ("f32", "f16", "bf16")
)


def number(value: Value) -> Any:
    """A constant of one float32 or float16, or one integer, as a Python number; else an array.

    None if the value is not constant.
    """
    if not value.constant:
        return None
    array = value.array()
    if array.size == 1 and (array.dtype in _SINGLE_FLOATS or array.dtype.kind in "iu"):
        return array.item() if array.dtype.kind != "V" else float(array.item())
    return array


def _of_floats(
    compute: Callable[[Any, Any], Any], general: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    def calculate(a: Any, b: Any) -> Any:
        if a.__class__ is float and (b.__class__ is float or b.__class__ is int):
            pass
        elif b.__class__ is not float or a.__class__ is not int:
            return general(a, b)
        try:
            return c_float(compute(a, b)).value
        except (ZeroDivisionError, OverflowError):
            return None

    return calculate


add = _of_floats(operator.add, arithmetic.add)
sub = _of_floats(operator.sub, arithmetic.sub)
mul = _of_floats(operator.mul, arithmetic.mul)
div = _of_floats(operator.truediv, arithmetic.div)


def single(scale: Value) -> bool | None:
    """Whether a scale has rank 0 or shape [1]; None where that is not known."""
    if scale.constant:
        array = scale.array()
        return array.ndim == 0 or array.shape == (1,)
    shape = shape_part(scale)
    return None if shape is None or shape == (None,) else shape in ((), (1,))


def zero_point_is(zero_point: Value | None, code: int) -> bool | None:
    """Whether all zero points are this code, and 0 where absent; None if they are not constant."""
    if zero_point is None:
        return code == 0
    if not zero_point.constant:
        return None
    array = zero_point.array()
    return bool(array.item() == code) if array.size == 1 else bool((array == code).all())


def kind_of(value: Value) -> int:
    """The element type of a value whose type has not been asked for before; 0 if not known."""
    producer = value.producer
    if value.tensor is not None:
        value.dtype = value.tensor.data_type
    elif producer is not None and len(producer.inputs) == 3 and is_quantize(producer.op):
        zero_point = producer.inputs[2]
        if zero_point is not None:
            value.dtype = zero_point.dtype or kind_of(zero_point)
    return value.dtype or type_of(value)


def is_quantize(op: str) -> bool:
    return op in ("QuantizeLinear", "com.microsoft::QuantizeLinear")


def rank(value: Value) -> int | None:
    shape = shape_of(value)
    return None if shape is None else len(shape)


def dim(value: Value, position: int | None) -> int | None:
    """A dimension, counted from the end where the position is negative; None if not known."""
    shape = shape_of(value)
    if shape is None or position is None or not -len(shape) <= position < len(shape):
        return None
    return shape[position]


def size(value: Value) -> int | None:
    """The number of elements; None if not known."""
    shape = shape_of(value)
    if shape is None:
        return None
    count = 1
    for each in shape:
        if each is None:
            return None
        count *= each
    return count


def magnitude(value: Any) -> Any:
    """max(abs(t)) of a constant; None if it is not constant, or has no elements."""
    array = const(value)
    if not isinstance(array, ARRAYS):
        return None if array is None else abs(array)
    if not array.size:
        return None
    if array.dtype.kind not in "iuf":
        array = array.astype(np.float64)
    low, high = np.minimum.reduce(array, None), np.maximum.reduce(array, None)
    return max(-low.item(), high.item()) if low == low else low.item()


def close(a: Any, b: Any, rtol: float) -> bool | None:
    """|a - b| <= rtol * |b| for every element."""
    if a.__class__ is float and b.__class__ is float:
        return bool(abs(a - b) <= rtol * abs(b))
    a, b = const(a), const(b)
    if a is None or b is None:
        return None
    wide_a, wide_b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if wide_a.shape == wide_b.shape and wide_a.size <= _FEW:
        pairs = zip(wide_a.ravel().tolist(), wide_b.ravel().tolist(), strict=True)
        return all([abs(x - y) <= rtol * abs(y) for x, y in pairs])
    try:
        return bool((np.abs(wide_a - wide_b) <= rtol * np.abs(wide_b)).all())
    except ValueError:
        return False
