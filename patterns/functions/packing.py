"""Weights in the form that com.microsoft.MatMulNBits reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrewrite.engine import dtypes

from .function import Function, Result, number, quantized
from .quantized import Quantized, const, type_part

Codes = NDArray[np.uint8]


def functions() -> tuple[Function, ...]:
    return (
        Function(
            "pack_columns",
            (quantized("w"), number("block_size")),
            Result.QUANTIZED,
            "A constant K x N matrix of 2-, 4- or 8-bit codes as MatMulNBits reads it: codes u8 "
            "[N, blocks, block_size * bits / 8], scales [N * blocks], zero points packed alike. "
            "w has one scale, one a column, or one a block of block_size rows.",
            _pack_columns,
        ),
    )


def _pack_columns(w: Quantized, block_size: Any) -> Quantized | None:
    codes, scale, size = const(w.data), const(w.scale), int(block_size)
    bounds = dtypes.integer_range(type_part(w))
    if codes is None or scale is None or bounds is None or codes.ndim != 2:
        return None
    bits = (bounds[1] - bounds[0]).bit_length()
    if bits not in (2, 4, 8) or size < 16 or size & (size - 1):
        return None
    rows, columns = codes.shape
    blocks = -(-rows // size)
    scales = _by_block(w, scale, size, blocks, columns)
    zero_points = _zero_points(w, bounds[0], size, blocks, columns)
    if scales is None or zero_points is None:
        return None
    shifted = np.zeros((columns, blocks * size), np.uint8)
    shifted[:, :rows] = (codes.astype(np.int64) - bounds[0]).T
    data = _packed(shifted, bits).reshape(columns, blocks, -1)
    return Quantized(data, scales.reshape(-1), _packed(zero_points, bits).reshape(-1), None)


def _by_block(w: Quantized, part: Any, size: int, blocks: int, columns: int) -> Any:
    """A scale or zero point as [N, blocks]; None where w has it on other blocks or another axis."""
    if w.block_size:
        fits = w.block_size == size and w.axis == 0 and part.shape == (blocks, columns)
        return np.ascontiguousarray(part.T) if fits else None
    if part.size == 1:
        return np.full((columns, blocks), part.reshape(()))
    if w.axis != 1 or part.shape != (columns,):
        return None
    return np.repeat(part[:, None], blocks, axis=1)


def _zero_points(w: Quantized, lowest: int, size: int, blocks: int, columns: int) -> Codes | None:
    if w.zero_point is None:
        return np.full((columns, blocks), -lowest, np.uint8)
    part = const(w.zero_point)
    spread = None if part is None else _by_block(w, part.astype(np.int64), size, blocks, columns)
    return None if spread is None else (spread - lowest).astype(np.uint8)


def _packed(codes: Codes, bits: int) -> Codes:
    """Each row's codes in bytes, the first code in the lowest bits; rows are filled up with 0."""
    per_byte = 8 // bits
    filled = np.pad(codes, ((0, 0), (0, -codes.shape[1] % per_byte)))
    groups = filled.reshape(codes.shape[0], -1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    packed: Codes = np.bitwise_or.reduce(groups << shifts, axis=2).astype(np.uint8)
    return packed
