"""The functions of the language on a graph in the making: a second reading, only used to aim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .world import Array, World, limits


class Unknown(Exception):
    """The result cannot be told."""


class Tensor:
    """A captured value as an operand of a function or of arithmetic."""

    def __init__(self, world: World, slot: str) -> None:
        self.world = world
        self.slot = slot

    def array(self) -> Array:
        if not self.world.is_constant(self.slot):
            raise Unknown
        content = self.world.contents[self.slot]
        return np.asarray(content, np.float64 if content.dtype.kind in "fV" else np.int64)

    @property
    def dtype(self) -> str:
        return self.world.dtypes[self.slot]


def array_of(value: Any) -> Array:
    if isinstance(value, Tensor):
        return value.array()
    if isinstance(value, (int, float, np.ndarray, np.generic, list, tuple)):
        return np.asarray(value)
    raise Unknown


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
        raise Unknown
    stated = int(world.stated(owner[0]).get("axis", 1))
    rank = len(world.shapes[tensor.slot])
    return stated % rank == int(array_of(axis)) % rank


def _is_input(tensor: Tensor) -> bool:
    world = tensor.world
    if world.structure.producer(tensor.slot) is not None or tensor.slot in world.computed:
        return False
    if world.is_constant(tensor.slot) is None:
        raise Unknown
    return not world.is_constant(tensor.slot)


def _is_output(tensor: Tensor) -> bool:
    structure = tensor.world.structure
    if tensor.slot in structure.shown | structure.hidden:
        return tensor.slot in structure.shown
    if tensor.slot in structure.roots:
        raise Unknown  # what stands around the pattern is settled last
    return False


def _use_count(tensor: Tensor) -> int:
    structure = tensor.world.structure
    if tensor.slot in structure.roots or tensor.slot in structure.shared:
        raise Unknown
    return len(list(structure.consumers(tensor.slot)))


def _same(one: Any, other: Any) -> bool:
    left, right = array_of(one), array_of(other)
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=True))


def _fits(tensor: Any, dtype: str) -> bool:
    low, high = limits(dtype)
    values = array_of(tensor)
    return bool(np.all((values >= low) & (values <= high) & (values == np.rint(values))))


def _is_const(*values: Any) -> bool:
    known = [v.world.is_constant(v.slot) for v in values if isinstance(v, Tensor)]
    if None in known:
        raise Unknown
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
    left, right = array_of(one), array_of(other)
    return bool(np.all(np.abs(left - right) <= relative * np.maximum(np.abs(left), np.abs(right))))


def _shape(tensor: Tensor | Array) -> tuple[int, ...]:
    return tensor.world.shapes[tensor.slot] if isinstance(tensor, Tensor) else np.shape(tensor)


def _quantize_like(value: Any, tensor: Tensor) -> Array:
    low, high = limits(tensor.dtype)
    scale = scale_of(tensor).array().astype(np.float32)
    codes = np.rint(array_of(value).astype(np.float32) / scale) + zero_point_of(tensor)
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
    "positive": lambda v: bool(np.all((array_of(v) > 0) & np.isfinite(array_of(v)))),
    "finite": lambda v: bool(np.all(np.isfinite(array_of(v)))),
    "all_equal": lambda v: bool(np.all(array_of(v) == array_of(v).ravel()[:1])),
    "sqrt": lambda v: np.sqrt(array_of(v)),
    "round_even": lambda v: np.rint(array_of(v)),
    "constant": lambda value, dtype: np.asarray(value),
    "axes_of": lambda axes, rank: tuple(sorted({int(a) % rank for a in array_of(axes)})),
    "is_empty": lambda t: 0 in _shape(t),
    "extent": lambda t, axes: int(np.prod([_shape(t)[int(a)] for a in array_of(axes)])),
    "full": lambda dims, value, dtype: np.full([int(n) for n in dims], value),
    "close": _close,
    "rank": lambda t: len(_shape(t)),
    "dim": lambda t, axis: _shape(t)[int(axis)],
    "size": lambda t: int(np.prod(_shape(t))),
    "shape": _shape,
    "abs": lambda v: np.abs(array_of(v)),
    "max": lambda *vs: max(array_of(v).max() for v in vs),
    "min": lambda *vs: min(array_of(v).min() for v in vs),
    "lowest": lambda dtype: limits(dtype)[0],
    "highest": lambda dtype: limits(dtype)[1],
    "quantize_like": _quantize_like,
    "range": lambda *bounds: tuple(range(*(int(b) for b in bounds))),
    "len": len,
}
