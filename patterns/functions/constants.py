"""Conditions on constants, and plain computations with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrewrite.engine.constants import same_content
from qrewrite.engine.numerics.quantization import RANGES

from .function import (
    Accepts,
    Function,
    Parameter,
    Result,
    element_type,
    number,
    optional_number,
    tensor,
)
from .quantized import cast_exactly


def functions() -> tuple[Function, ...]:
    return conditions() + reductions() + computations()


def conditions() -> tuple[Function, ...]:
    t, a, b = tensor("t"), tensor("a"), tensor("b")
    return (
        Function(
            "positive",
            (tensor("s"),),
            Result.BOOL,
            "Every element is greater than 0 and finite.",
            lambda s: bool(np.all((_wide(s) > 0) & np.isfinite(_wide(s)))),
        ),
        Function(
            "finite",
            (tensor("s"),),
            Result.BOOL,
            "No element is infinite or NaN.",
            lambda s: bool(np.all(np.isfinite(_wide(s)))),
        ),
        Function(
            "close",
            (a, b, optional_number("rtol", 1e-6)),
            Result.BOOL,
            "|a - b| <= rtol * |b| for every element, broadcast.",
            _close,
        ),
        Function(
            "same",
            (a, b),
            Result.BOOL,
            "a and b have one element type and shape, and equal bits.",
            lambda a, b: same_content(np.asarray(a), np.asarray(b)),
        ),
        Function("all_equal", (t,), Result.BOOL, "All elements of t are equal.", _all_equal),
        Function(
            "fits",
            (t, element_type("type")),
            Result.BOOL,
            "Every element of t is a number of this integer type.",
            lambda t, kind: cast_exactly(t, kind) is not None,
        ),
    )


def reductions() -> tuple[Function, ...]:
    t = tensor("t")
    return (
        Function("min", (t,), Result.NUMBER, "The least element of t.", _reduced(np.min)),
        Function("max", (t,), Result.NUMBER, "The greatest element of t.", _reduced(np.max)),
        Function("abs", (t,), Result.TENSOR, "The magnitudes of t; of integers as int64.", _abs),
    )


def computations() -> tuple[Function, ...]:
    t = tensor("t")
    dims = Parameter("dims", Accepts.LIST)
    axes = Parameter("axes", Accepts.LIST)
    return (
        Function(
            "cast",
            (t, element_type("type")),
            Result.TENSOR,
            "t in another element type; none if an element does not fit into an integer type.",
            cast_exactly,
        ),
        Function(
            "constant",
            (Parameter("value", Accepts.LIST), element_type("type")),
            Result.TENSOR,
            "A number as a tensor of rank 0, a list as one of rank 1.",
            lambda value, kind: cast_exactly(np.asarray(value), kind),
        ),
        Function(
            "full",
            (dims, number("value"), element_type("type")),
            Result.TENSOR,
            "A tensor of these dimensions whose elements are all this number.",
            _full,
        ),
        Function(
            "range",
            (number("first"), number("end")),
            Result.LIST,
            "The integers from first up to end, without end.",
            lambda first, end: tuple(range(int(first), int(end))),
        ),
        Function(
            "axes_of",
            (axes, number("rank")),
            Result.LIST,
            "A list of axes, counted from 0 and in ascending order.",
            _axes_of,
        ),
        Function("reshape", (t, dims), Result.TENSOR, "t in another shape.", _reshape),
        Function(
            "transpose",
            (t, Parameter("perm", Accepts.LIST)),
            Result.TENSOR,
            "t with its dimensions in another order.",
            lambda t, perm: np.transpose(t, [int(each) for each in perm]),
        ),
        Function(
            "squeeze",
            (t, axes),
            Result.TENSOR,
            "t without these dimensions of size 1.",
            lambda t, axes: np.squeeze(t, tuple(int(each) for each in axes)),
        ),
        Function(
            "concat",
            (Parameter("parts", Accepts.LIST), number("axis")),
            Result.TENSOR,
            "A list of tensors joined along an axis.",
            lambda parts, axis: np.concatenate(list(parts), int(axis)),
        ),
        Function("sqrt", (t,), Result.TENSOR, "The square root of every element.", _sqrt),
        Function(
            "round_even",
            (t,),
            Result.TENSOR,
            "Every element rounded to an integer, halves to the even one.",
            np.rint,
        ),
    )


def _wide(array: Any) -> Any:
    return np.asarray(array).astype(np.float64)


def _close(a: Any, b: Any, rtol: float) -> bool:
    wide_a, wide_b = _wide(a), _wide(b)
    with np.errstate(all="ignore"):
        try:
            return bool(np.all(np.abs(wide_a - wide_b) <= rtol * np.abs(wide_b)))
        except ValueError:
            return False


def _all_equal(t: Any) -> bool:
    flat = np.asarray(t).reshape(-1)
    return bool((flat == flat[:1]).all())


def _reduced(reduce: Any) -> Any:
    def reduced(t: Any) -> Any:
        array = np.asarray(t)
        if not array.size:
            return None
        if array.dtype in RANGES or array.dtype.kind in "biu":
            return int(reduce(array.astype(np.int64)))
        return reduce(array)

    return reduced


def _abs(t: Any) -> Any:
    array = np.asarray(t)
    integers = array.dtype in RANGES or array.dtype.kind in "biu"
    return np.abs(array.astype(np.int64) if integers else array)


def _axes_of(axes: Any, rank: Any) -> tuple[int, ...] | None:
    found = {int(each) for each in np.atleast_1d(axes)}
    if any(not -rank <= each < rank for each in found):
        return None
    return tuple(sorted(each % int(rank) for each in found))


def _full(dims: Any, number: Any, kind: int) -> Any:
    if None in dims:
        return None
    return cast_exactly(np.full([int(each) for each in dims], number), kind)


def _reshape(t: Any, dims: Any) -> Any:
    return np.reshape(t, [int(each) for each in np.atleast_1d(dims)])


def _sqrt(t: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.sqrt(np.asarray(t))
