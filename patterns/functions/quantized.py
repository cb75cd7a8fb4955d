"""Quantized tensors as expressions see them, and how anything an expression yields is read.

An expression yields numbers, texts, tuples, numpy arrays (constants), graph values, quantized
tensors, or None where it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrewrite.engine import dtypes
from qrewrite.engine.graph import Value
from qrewrite.engine.inference import shape_of, type_of

Array = NDArray[Any]
ARRAYS = (np.ndarray, np.generic)
Tensor = Value | Array


@dataclass(frozen=True, slots=True)
class Quantized:
    """Integer codes with their grid.  Each part is a value of the graph or computed by a rule."""

    data: Tensor
    scale: Tensor
    zero_point: Tensor | None
    """None: absent, which is zero."""
    axis: int | None
    """Not negative; None: per tensor."""
    block_size: int = 0


def const(thing: Any) -> Any:
    """The content of a constant as an array; numbers, texts and tuples as they are.

    None for a value that is not constant.
    """
    if thing.__class__ is Value:
        return thing.array() if thing.constant else None
    if thing.__class__ is Quantized:
        return const(thing.data)
    return thing


def num(thing: Any) -> Any:
    """As ``const``, but a constant of one element is a Python number: made for ``<`` and ``>``."""
    if thing.__class__ is Value:
        if not thing.constant:
            return None
        thing = thing.array()
    elif thing.__class__ is Quantized:
        thing = const(thing.data)
    if isinstance(thing, ARRAYS) and thing.size == 1:
        return (
            thing.item() if thing.dtype.kind in "biuf" else float(thing.astype(np.float64).item())
        )
    return thing


def type_part(thing: Any) -> int:
    """The ONNX element type of a tensor; 0 where it is not known."""
    if isinstance(thing, Value):
        return thing.dtype or type_of(thing)
    if isinstance(thing, Quantized):
        return type_part(thing.data)
    dtype = getattr(thing, "dtype", None)
    return 0 if dtype is None else dtypes.from_numpy(dtype)


def shape_part(thing: Any) -> tuple[int | None, ...] | None:
    """The dimensions of a tensor, None where one is not known; None if the rank is not known."""
    if isinstance(thing, Value):
        return shape_of(thing)
    if isinstance(thing, Quantized):
        return shape_part(thing.data)
    shape = getattr(thing, "shape", None)
    return shape if isinstance(shape, tuple) else None


def part(thing: Any, name: str) -> Any:
    """``q.scale`` of what ``let`` has computed; None if that is no quantized tensor."""
    if name == "type":
        return type_part(thing) or None
    if not isinstance(thing, Quantized):
        return None
    if name == "zero_point":
        return zero_of(thing)
    return getattr(thing, name, None)


def zero_of(tensor: Quantized) -> Tensor | None:
    """The zero point, made where it is absent: zeros of the codes' type in the scale's shape."""
    if tensor.zero_point is not None:
        return tensor.zero_point
    return zeros(type_part(tensor), shape_part(tensor.scale))


def zeros(dtype: int, shape: tuple[int | None, ...] | None) -> Array | None:
    """An array of zeros; None if type or shape are not known."""
    if not dtype or shape is None or None in shape:
        return None
    return np.zeros([size or 0 for size in shape], dtypes.numpy_dtype(dtype))


def zero_point_of(zero_point: Value | None, data: Any, scale: Any) -> Tensor | None:
    """A zero point as an operand or a tensor: made where it is absent."""
    if zero_point is not None:
        return zero_point
    return zeros(type_part(data), shape_part(scale))


def with_parts(base: Any, **parts: Any) -> Quantized | None:
    """``q with {scale = s}``; None if something is not known.

    A new type converts the codes and the zero point by value; None where one does not fit.
    """
    kind = parts.pop("type", None)
    if not isinstance(base, Quantized):
        scale = parts.get("scale")
        if scale is None or base is None:
            return None
        base = Quantized(base, scale, None, None)
    if any(value is None for name, value in parts.items() if name != "axis"):
        return None
    for name in ("scale", "zero_point"):
        if isinstance(parts.get(name), int | float):
            parts[name] = np.asarray(parts[name], _dtype_of_part(base, name))
    changed = replace(base, **parts)
    return changed if kind is None else _converted(changed, kind)


def _dtype_of_part(base: Quantized, name: str) -> Any:
    return dtypes.numpy_dtype(type_part(base.scale if name == "scale" else base.data) or 1)


def _converted(tensor: Quantized, kind: int) -> Quantized | None:
    data, zero_point = cast_exactly(const(tensor.data), kind), tensor.zero_point
    if zero_point is not None:
        zero_point = cast_exactly(const(zero_point), kind)
        if zero_point is None:
            return None
    return None if data is None else replace(tensor, data=data, zero_point=zero_point)


def cast_exactly(array: Any, kind: int) -> Array | None:
    """An array in another element type; to an integer type only if every element fits."""
    if array is None or not kind:
        return None
    source = np.asarray(array)
    bounds = dtypes.integer_range(kind)
    if bounds is not None and source.size:
        wide = source if source.dtype.kind in "iuf" else source.astype(np.float64)
        if not bool((wide >= bounds[0]).all() and (wide <= bounds[1]).all()):
            return None
        if wide.dtype.kind == "f" and bool((wide != np.rint(wide)).any()):
            return None
        if source.dtype.kind not in "iuf":
            source = wide.astype(np.int64)
    with np.errstate(all="ignore"):
        return source.astype(dtypes.numpy_dtype(kind))
