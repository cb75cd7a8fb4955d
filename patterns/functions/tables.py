"""What a pattern between two 8-bit tensors computes, code by code."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrewrite.engine import dtypes
from qrewrite.engine.graph import Value
from qrewrite.engine.numerics.evaluate import all_codes, sure_content

from .function import Function, Result, number, optional_number, quantized, tensor
from .quantized import Array, Quantized, const, type_part, zero_of

_LEAST = 2e-4
"""In quanta of the result: more than the kernels' float32 rounds off."""
_AMPLE = 1 / 64


def functions() -> tuple[Function, ...]:
    return (
        Function(
            "codes_of",
            (quantized("y"), quantized("x")),
            Result.TENSOR,
            "The code of y for each code of the 8-bit tensor x, the least code first, by ONNX's "
            "definition. none where y depends on more than x, or on the last bits of a function.",
            _codes_of,
        ),
        Function(
            "table_of",
            (quantized("y"), quantized("x")),
            Result.TENSOR,
            "The same in the order of indices: the code of y for code 0 of x first, for code -1 "
            "last.",
            _table_of,
        ),
        Function(
            "addend_of",
            (
                tensor("codes"),
                quantized("x"),
                quantized("y"),
                number("offset"),
                optional_number("least"),
                optional_number("most"),
            ),
            Result.QUANTIZED,
            "A tensor of one code that, added to x on the grid of y, gives these codes: its value "
            "is next to offset, away from where the sum is rounded the other way. Where there is "
            "none, offset itself if float32 computes the sums exactly. Sums beyond least and "
            "most, of y's type unless stated, are cut off.",
            _addend_of,
        ),
    )


def _codes_of(y: Quantized, x: Quantized) -> Array | None:
    if not isinstance(y.data, Value) or not isinstance(x.data, Value):
        return None
    codes = all_codes(type_part(x))
    if codes is None:
        return None
    found = sure_content(y.data, {x.data: codes})
    return found.reshape(-1) if found is not None and found.size == codes.size else None


def _table_of(y: Quantized, x: Quantized) -> Array | None:
    codes, bounds = _codes_of(y, x), dtypes.integer_range(type_part(x))
    return None if codes is None or bounds is None else np.roll(codes, bounds[0])


def _addend_of(
    codes: Array, x: Quantized, y: Quantized, offset: Any, least: Any = None, most: Any = None
) -> Quantized | None:
    own, bounds = all_codes(type_part(x)), dtypes.integer_range(type_part(y))
    x_grid, y_grid = _grid(x), _grid(y)
    if own is None or bounds is None or own.size != codes.size or not x_grid or not y_grid:
        return None
    term = (own.reshape(-1).astype(np.float64) - x_grid[1]) * x_grid[0] / y_grid[0]
    room = codes.astype(np.float64) - y_grid[1] - term
    low = max(room[codes > (bounds[0] if least is None else least)] - 0.5, default=-np.inf)
    high = min(room[codes < (bounds[1] if most is None else most)] + 0.5, default=np.inf)
    wanted = float(offset) / y_grid[0]
    margin = min((high - low) / 2, _AMPLE)
    if margin >= _LEAST:
        wanted = min(max(wanted, low + margin), high - margin)
    elif not _is_exact(term + wanted):
        return None
    return _coded(wanted * y_grid[0], type_part(x))


def _is_exact(sums: Array) -> bool:
    """Whether float32 computes sums without rounding, in whatever order."""
    return bool(np.all(sums * 256 == np.rint(sums * 256)) and np.abs(sums).max() < 2**15)


def _coded(value: float, kind: int) -> Quantized:
    """One code whose scale is the value's magnitude: 1, or 0 around 1 if it is negative."""
    dtype = dtypes.numpy_dtype(kind)
    code, zero_point = (1, 0) if value > 0 else (0, 1 if value < 0 else 0)
    scale = np.asarray(abs(value) or 1.0, np.float32)
    return Quantized(np.asarray(code, dtype), scale, np.asarray(zero_point, dtype), None)


def _grid(q: Quantized) -> tuple[float, float] | None:
    """Scale and zero point of a tensor that has one of each, both constant."""
    scale, zero_point = const(q.scale), const(zero_of(q))
    if scale is None or zero_point is None or scale.size != 1 or zero_point.size != 1:
        return None
    return float(scale.reshape(())), float(zero_point.reshape(()))
