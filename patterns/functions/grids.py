"""Questions about the grids of quantized tensors, and about element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrewrite.engine import dtypes
from qrewrite.engine.graph import Value

from .function import Accepts, Function, Parameter, Result, element_type, number, quantized
from .quantized import Quantized, const, shape_part, type_part


def functions() -> tuple[Function, ...]:
    many = Parameter("x", Accepts.SCALE, repeated=True)
    return (
        Function(
            "per_tensor",
            (many,),
            Result.BOOL,
            "The scale of x, and of every further tensor, has rank 0 or shape [1].",
            _per_tensor,
        ),
        Function(
            "per_axis",
            (quantized("x"), number("axis")),
            Result.BOOL,
            "x has one scale for each index of this axis (negative: from the end).",
            _per_axis,
        ),
        Function(
            "same_grid",
            (quantized("x"), Parameter("y", Accepts.QUANTIZED, repeated=True)),
            Result.BOOL,
            "x and y have one type, axis, block size and zero point, and scales equal bit by bit; "
            "an absent zero point is zero, rank 0 is as good as shape [1].",
            _same_grid,
        ),
        Function(
            "lowest",
            (element_type("type"),),
            Result.NUMBER,
            "The least integer of a type.",
            _lowest,
        ),
        Function(
            "highest",
            (element_type("type"),),
            Result.NUMBER,
            "The greatest integer of a type.",
            _highest,
        ),
        Function(
            "bits", (element_type("type"),), Result.NUMBER, "The width of an integer type.", _bits
        ),
        Function(
            "is_signed",
            (element_type("type"),),
            Result.BOOL,
            "An integer type has negative numbers.",
            _is_signed,
        ),
    )


def is_single(shape: tuple[int | None, ...] | None) -> bool | None:
    """Rank 0 or [1]; None where that is not known."""
    if shape is None or shape == (None,):
        return None
    return shape in ((), (1,))


def _per_tensor(*scales: Any) -> bool | None:
    for scale in scales:
        single = is_single(shape_part(scale))
        if not single:
            return single
    return True


def _per_axis(x: Quantized, axis: Any) -> bool | None:
    shape, scale = shape_part(x.data), shape_part(x.scale)
    if scale is None or (axis < 0 and shape is None):
        return None
    wanted = int(axis) + (len(shape) if axis < 0 and shape is not None else 0)
    return len(scale) == 1 and x.axis == wanted and not x.block_size


def _same_grid(x: Quantized, *others: Quantized) -> bool | None:
    for y in others:
        same = _same_as(x, y)
        if not same:
            return same
    return True


def _same_as(x: Quantized, y: Quantized) -> bool | None:
    x_type, y_type = type_part(x), type_part(y)
    if not x_type or not y_type:
        return None
    if x_type != y_type:
        return False
    scales = _same_scale(x.scale, y.scale)
    if not scales:
        return scales
    if not is_single(shape_part(x.scale)) and (x.axis is None or x.axis != y.axis):
        return False
    return x.block_size == y.block_size and _same_zero_point(x, y)


def _same_scale(a: Any, b: Any) -> bool | None:
    if a is b:
        return True
    a, b = const(a), const(b)
    if a is None or b is None:
        return None
    if a.dtype != b.dtype or a.size != b.size or (a.size > 1 and a.shape != b.shape):
        return False
    return bool(a.tobytes() == b.tobytes())


def _same_zero_point(x: Quantized, y: Quantized) -> bool | None:
    if x.zero_point is y.zero_point:
        return True
    a, b = _zero_content(x), _zero_content(y)
    if a is None or b is None:
        return None
    return bool(np.all(np.equal(a, b)))


def _zero_content(x: Quantized) -> Any:
    if x.zero_point is None:
        return np.zeros((), np.int64)
    if isinstance(x.zero_point, Value) and not x.zero_point.constant:
        return None
    return np.asarray(const(x.zero_point)).astype(np.int64).reshape(-1)


def _lowest(kind: int) -> int | None:
    bounds = dtypes.integer_range(kind)
    return None if bounds is None else bounds[0]


def _highest(kind: int) -> int | None:
    bounds = dtypes.integer_range(kind)
    return None if bounds is None else bounds[1]


def _bits(kind: int) -> int | None:
    bounds = dtypes.integer_range(kind)
    return None if bounds is None else (bounds[1] - bounds[0]).bit_length()


def _is_signed(kind: int) -> bool | None:
    bounds = dtypes.integer_range(kind)
    return None if bounds is None else bounds[0] < 0
