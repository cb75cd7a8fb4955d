"""A case to verify a rule on: a model, what to feed it, and which values the rule must keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import ModelProto, TensorProto

from .sessions import Array, Arrays
from .settle_contents import content
from .structure import Choice
from .world import limits

SHORT = {
    TensorProto.FLOAT: "f32",
    TensorProto.FLOAT16: "f16",
    TensorProto.UINT8: "u8",
    TensorProto.INT8: "i8",
    TensorProto.UINT16: "u16",
    TensorProto.INT16: "i16",
    TensorProto.INT32: "i32",
    TensorProto.INT64: "i64",
    TensorProto.UINT4: "u4",
    TensorProto.INT4: "i4",
    TensorProto.BOOL: "bool",
    TensorProto.DOUBLE: "f64",
    TensorProto.UINT32: "u32",
    TensorProto.UINT64: "u64",
}
LARGEST_TABLE = 65536


@dataclass(frozen=True)
class Case:
    """A model and what is known of it."""

    model: ModelProto
    roots: tuple[str, ...] = ()
    """Values that the rule must keep, by name."""
    pinned: Arrays = field(default_factory=dict)
    """Graph inputs that are always fed this."""
    options: Mapping[str, object] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    broken: Choice | None = None
    seed: int = 0
    core: int = 0
    """Nodes of the pattern itself."""
    elementwise: bool = False
    """All codes of the inputs, in all combinations of two, are worth trying."""


def feeds(case: Case) -> list[dict[str, Array]]:
    """What to run the model on: random values, extremes, and every code of a small domain."""
    free = [value for value in _inputs(case.model) if value[0] not in case.pinned]
    result = [_feed(case, free, kind) for kind in ("full", "normal", "extreme")]
    if case.elementwise:
        result += _exhaustive(case, free)
    return result if free else result[:1]


def _inputs(model: ModelProto) -> list[tuple[str, str, tuple[int, ...]]]:
    initialized = {tensor.name for tensor in model.graph.initializer}
    found = []
    for value in model.graph.input:
        if value.name not in initialized:
            tensor = value.type.tensor_type
            shape = tuple(
                dim.dim_value or 1 if dim.dim_param else dim.dim_value for dim in tensor.shape.dim
            )
            found.append((value.name, SHORT[tensor.elem_type], shape))
    return found


def _feed(case: Case, free: list[tuple[str, str, tuple[int, ...]]], kind: str) -> dict[str, Array]:
    result = dict(case.pinned)
    for index, (name, dtype, shape) in enumerate(free):
        seed = case.seed * 31 + index
        if dtype[0] in "ui" and kind == "extreme":
            low, high = limits(dtype)
            ends = np.array([low, high, low + 1, high - 1, 0 if low else high // 2], np.int64)
            array = np.resize(np.roll(ends, -index), shape)
            result[name] = array.astype(content(dtype, (), "zero", 0).dtype)
        elif dtype[0] in "ui":
            result[name] = content(dtype, shape, "full" if kind != "normal" else "within 64", seed)
        else:
            array = content(dtype, shape, "normal", seed)
            wide = kind == "extreme" and dtype != "bool"
            result[name] = np.asarray(array * array.dtype.type(100)) if wide else array
    return result


def _exhaustive(case: Case, free: list[tuple[str, str, tuple[int, ...]]]) -> list[dict[str, Array]]:
    """Feeds in which a lone 8-bit input takes all its codes."""
    eight = [each for each in free if each[1] in ("u8", "i8")]
    if len(free) != 1 or len(eight) != 1:
        return _all_pairs(case, free)
    name, dtype, shape = eight[0]
    size = int(np.prod(shape))
    if not size:
        return []
    low, _ = limits(dtype)
    codes = np.arange(low, low + 256)
    count = -(-256 // size)
    padded = np.resize(codes, count * size).astype(content(dtype, (), "zero", 0).dtype)
    return [
        {**case.pinned, name: padded[i * size : (i + 1) * size].reshape(shape)}
        for i in range(min(count, 64))
    ]


def _all_pairs(case: Case, free: list[tuple[str, str, tuple[int, ...]]]) -> list[dict[str, Array]]:
    """Two 8-bit inputs that broadcast against each other to all 65,536 pairs."""
    if len(free) != 2 or {each[2] for each in free} != {(256, 1), (1, 256)}:
        return []
    result = dict(case.pinned)
    for name, dtype, shape in free:
        if dtype not in ("u8", "i8"):
            return []
        low, _ = limits(dtype)
        result[name] = (
            np.arange(low, low + 256).reshape(shape).astype(content(dtype, (), "zero", 0).dtype)
        )
    return [result]
