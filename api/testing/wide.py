"""The float ops that accumulate, and Q and DQ, in float64: exact where float32 is not.

Written from the ONNX definitions; sums of products of codes times scales have a relative error of
1e-16, which `exact.snapped` takes away from ties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .exact import Windows, convolve, snapped

Array = NDArray[Any]
RANGES = {"uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1)}


def integer_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Least and largest code, also of the 4- and 2-bit types."""
    if dtype.name in RANGES:
        return RANGES[dtype.name]
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def spread(parameter: Array, shape: Sequence[int], axis: int, block_size: int) -> Array:
    """A scale or zero point of any granularity as float64 that broadcasts over `shape`."""
    wide = parameter.astype(np.float64)
    if wide.size == 1 and wide.ndim <= 1:
        return wide.reshape(())
    axis = axis % len(shape)
    if wide.ndim == 1 and not block_size:
        return wide.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    repeated = np.repeat(wide, block_size, axis)
    return np.asarray(np.take(repeated, range(shape[axis]), axis))


def dequantize(
    codes: Array, scale: Array, zero_point: Array | None, axis: int = 1, block_size: int = 0
) -> Array:
    """The real numbers of codes, as DequantizeLinear defines them, in float64."""
    values = codes.astype(np.float64)
    if zero_point is not None:
        values = values - spread(zero_point, codes.shape, axis, block_size)
    with np.errstate(all="ignore"):
        return np.asarray(values * spread(scale, codes.shape, axis, block_size))


def quantize(
    values: Array, scale: Array, zero_point: Array | None, dtype: np.dtype[Any], axis: int = 1,
    block_size: int = 0,
) -> Array:  # fmt: skip
    """QuantizeLinear of float64 numbers: round half to even, zero point, saturation; NaN gives the
    least code, as in onnxruntime."""
    low, high = integer_limits(dtype)
    with np.errstate(all="ignore"):
        codes = np.rint(snapped(values / spread(scale, values.shape, axis, block_size)))
    if zero_point is not None:
        codes = codes + spread(zero_point, values.shape, axis, block_size)
    codes = np.clip(np.where(np.isnan(codes), low, codes), low, high)
    return codes.astype(np.int64).astype(dtype)


# ---- ops --------------------------------------------------------------------------------------


def conv(x: Array, w: Array, b: Array | None = None, **attributes: Any) -> Array:
    result = convolve(x, w, attributes)
    return result if b is None else result + b.reshape([1, -1] + [1] * (x.ndim - 2))


def gemm(
    a: Array, b: Array, c: Array | None = None, *, alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0,
) -> Array:  # fmt: skip
    product = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return np.asarray(product if c is None else product + beta * c)


def average_pool(
    x: Array, *, kernel_shape: Sequence[int], count_include_pad: int = 0, **attributes: Any
) -> Array:
    windows = Windows(x.shape, kernel_shape, attributes)
    sums = windows.take(x, 0, 0).sum(axis=windows.kernel_axes)
    counts = windows.take(np.ones(x.shape), count_include_pad, 0).sum(axis=windows.kernel_axes)
    return np.asarray(sums / counts)


def global_average_pool(x: Array) -> Array:
    return np.asarray(x.mean(axis=tuple(range(2, x.ndim)), keepdims=True))


def matmul(a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(a, b))


OPS: dict[str, Callable[..., Array]] = {
    "Conv": conv,
    "MatMul": matmul,
    "Gemm": gemm,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
}
"""Ops of ai.onnx whose float32 result depends on the order of a sum."""
