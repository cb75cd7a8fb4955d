"""Element types: short names (`u8`, `f32`), ONNX enum numbers and numpy dtypes.

An element type is carried as its number in `onnx.TensorProto.DataType`; 0 means unknown.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto

UNKNOWN = 0
"""Also `TensorProto.UNDEFINED`."""

# Numbers as in onnx.proto; the 2-bit types are newer than some supported releases of onnx.
NUMBERS: dict[str, int] = {
    "f32": 1,
    "u8": 2,
    "i8": 3,
    "u16": 4,
    "i16": 5,
    "i32": 6,
    "i64": 7,
    "str": 8,
    "bool": 9,
    "f16": 10,
    "f64": 11,
    "u32": 12,
    "u64": 13,
    "c64": 14,
    "c128": 15,
    "bf16": 16,
    "f8e4m3fn": 17,
    "f8e4m3fnuz": 18,
    "f8e5m2": 19,
    "f8e5m2fnuz": 20,
    "u4": 21,
    "i4": 22,
    "f4e2m1": 23,
    "f8e8m0": 24,
    "u2": 25,
    "i2": 26,
}
"""Short name -> ONNX number."""

_NAMES = {number: name for name, number in NUMBERS.items()}

_NUMPY: dict[int, Any] = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    4: np.uint16,
    5: np.int16,
    6: np.int32,
    7: np.int64,
    8: np.object_,
    9: np.bool_,
    10: np.float16,
    11: np.float64,
    12: np.uint32,
    13: np.uint64,
    14: np.complex64,
    15: np.complex128,
    16: ml_dtypes.bfloat16,
    17: ml_dtypes.float8_e4m3fn,
    18: ml_dtypes.float8_e4m3fnuz,
    19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e5m2fnuz,
    21: ml_dtypes.uint4,
    22: ml_dtypes.int4,
    23: ml_dtypes.float4_e2m1fn,
    24: ml_dtypes.float8_e8m0fnu,
    25: ml_dtypes.uint2,
    26: ml_dtypes.int2,
}
_DTYPES: dict[int, np.dtype[Any]] = {number: np.dtype(kind) for number, kind in _NUMPY.items()}
_FROM_NUMPY = {dtype: number for number, dtype in _DTYPES.items()}

_SIGNED_BITS = {"i2": 2, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
_UNSIGNED_BITS = {"u2": 2, "u4": 4, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
_RANGES = {
    **{
        NUMBERS[name]: (-(1 << bits - 1), (1 << bits - 1) - 1)
        for name, bits in _SIGNED_BITS.items()
    },
    **{NUMBERS[name]: (0, (1 << bits) - 1) for name, bits in _UNSIGNED_BITS.items()},
}

FLOATS = frozenset(NUMBERS[name] for name in ("f32", "f16", "f64", "bf16"))
"""The element types that arithmetic is done in (no float8)."""


def short_name(dtype: int) -> str:
    """`u8` for `TensorProto.UINT8`; `unknown` for 0 and numbers that ONNX does not define."""
    return _NAMES.get(dtype, "unknown")


def number(name: str) -> int:
    """The ONNX number of a short name; 0 if there is no such type."""
    return NUMBERS.get(name, UNKNOWN)


def numpy_dtype(dtype: int) -> np.dtype[Any]:
    """The numpy (or ml_dtypes) dtype of an ONNX element type; KeyError if there is none."""
    return _DTYPES[dtype]


def from_numpy(dtype: np.dtype[Any]) -> int:
    """The ONNX element type of a numpy dtype in native byte order; 0 if there is none."""
    if dtype.kind in "US":
        return TensorProto.STRING
    return _FROM_NUMPY.get(dtype, UNKNOWN)


def integer_range(dtype: int) -> tuple[int, int] | None:
    """Least and largest value of an integer element type; None for every other type."""
    return _RANGES.get(dtype)
