"""Questions about values of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrewrite.engine.graph import Value

from .function import Accepts, Function, Parameter, Result, number, value
from .quantized import Quantized, shape_part


def functions() -> tuple[Function, ...]:
    return (
        Function(
            "is_const",
            (value("v"),),
            Result.BOOL,
            "v is an initializer that no graph input can override, or computed by the rule.",
            _is_const,
        ),
        Function("is_input", (value("v"),), Result.BOOL, "v is an input of the graph.", _is_input),
        Function(
            "is_output",
            (value("v"),),
            Result.BOOL,
            "v is an output of its graph (also of a body of If, Loop or Scan).",
            _is_output,
        ),
        Function(
            "use_count",
            (value("v"),),
            Result.NUMBER,
            "The number of nodes that take v as an operand; being a graph output counts as none.",
            _use_count,
        ),
        Function("rank", (value("v"),), Result.NUMBER, "The number of dimensions of v.", _rank),
        Function(
            "dim",
            (value("v"), number("i")),
            Result.NUMBER,
            "Dimension i of v, counted from 0, or from the end where i is negative.",
            _dim,
        ),
        Function("shape", (value("v"),), Result.LIST, "The dimensions of v.", _shape),
        Function(
            "extent",
            (value("v"), Parameter("axes", Accepts.LIST)),
            Result.NUMBER,
            "The product of these dimensions of v.",
            _extent,
        ),
        Function(
            "reshape_dims",
            (value("v"),),
            Result.LIST,
            "The dimensions of v as Reshape takes them: -1 for the one that is not known. none if "
            "several are not, or one is 0.",
            _reshape_dims,
        ),
        Function("size", (value("v"),), Result.NUMBER, "The number of elements of v.", _size),
        Function(
            "is_empty",
            (value("v"),),
            Result.BOOL,
            "A dimension of v is known to be 0; never unknown.",
            _is_empty,
        ),
    )


def _is_const(v: Any) -> bool:
    if isinstance(v, Quantized):
        v = v.data
    return v.constant if isinstance(v, Value) else True


def _is_input(v: Any) -> bool:
    return isinstance(v, Value) and v.is_input


def _is_output(v: Any) -> bool:
    return isinstance(v, Value) and v.is_output


def _use_count(v: Any) -> int:
    return len(v.uses) if isinstance(v, Value) else 0


def _rank(v: Any) -> int | None:
    shape = shape_part(v)
    return None if shape is None else len(shape)


def _dim(v: Any, i: Any) -> int | None:
    shape = shape_part(v)
    position = int(i)
    if shape is None or not -len(shape) <= position < len(shape):
        return None
    return shape[position]


def _shape(v: Any) -> tuple[int, ...] | None:
    shape = shape_part(v)
    if shape is None:
        return None
    known = tuple(size for size in shape if size is not None)
    return known if len(known) == len(shape) else None


def _extent(v: Any, axes: Any) -> int | None:
    shape = shape_part(v)
    if shape is None:
        return None
    product = 1
    for axis in np.atleast_1d(axes):
        size = shape[int(axis)] if -len(shape) <= axis < len(shape) else None
        if size is None:
            return None
        product *= size
    return product


def _reshape_dims(v: Any) -> tuple[int, ...] | None:
    shape = shape_part(v)
    if shape is None or 0 in shape or shape.count(None) > 1:
        return None
    return tuple(-1 if size is None else size for size in shape)


def _is_empty(v: Any) -> bool:
    shape = shape_part(v)
    return shape is not None and 0 in shape


def _size(v: Any) -> int | None:
    shape = _shape(v)
    if shape is None:
        return None
    size = 1
    for each in shape:
        size *= each
    return size
