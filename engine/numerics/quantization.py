"""Quantization arithmetic in pure numpy, as ONNX defines it and onnxruntime computes it.

Integer types are those of `RANGES`; arrays of 2- and 4-bit codes have the `ml_dtypes` types that
`onnx.numpy_helper` uses. A scale or zero point has rank 0 or shape [1] (per tensor), rank 1 (per
axis) or the rank of the tensor with one dimension divided by the block size (blocked).
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import Refused

Array = NDArray[np.generic]

RANGES: dict[np.dtype[np.generic], tuple[int, int]] = {
    np.dtype(kind): (low, high)
    for kind, low, high in (
        (np.uint8, 0, 255),
        (np.int8, -128, 127),
        (np.uint16, 0, 65535),
        (np.int16, -32768, 32767),
        (np.int32, -(2**31), 2**31 - 1),
        (ml_dtypes.uint4, 0, 15),
        (ml_dtypes.int4, -8, 7),
        (ml_dtypes.uint2, 0, 3),
        (ml_dtypes.int2, -2, 1),
    )
}
"""The smallest and largest code of each integer type that quantized tensors have."""


def code_range(dtype: DTypeLike) -> tuple[int, int]:
    """The smallest and largest code of an integer type; `Refused` for any other type."""
    try:
        return RANGES[np.dtype(dtype)]
    except KeyError:
        raise Refused(f"{np.dtype(dtype)} is not an integer type of quantized tensors") from None


def expand_parameter(
    parameter: Array, shape: tuple[int, ...], axis: int = 1, block_size: int = 0
) -> Array:
    """A scale or zero point in a form that broadcasts against a tensor of `shape`.

    `Refused` if the axis is out of range or the parameter does not fit the shape.
    """
    if parameter.size == 1 and parameter.ndim <= 1 and not block_size:
        return parameter.reshape(())
    rank = len(shape)
    if not -rank <= axis < rank:
        raise Refused(f"axis {axis} is out of range for a tensor of rank {rank}")
    axis %= rank
    if block_size:
        blocks = list(shape)
        blocks[axis] = -(-shape[axis] // block_size)
        if parameter.shape != tuple(blocks):
            raise _misfit(parameter, shape, axis)
        repeated = np.repeat(parameter, block_size, axis=axis)
        return repeated[(slice(None),) * axis + (slice(shape[axis]),)]
    if parameter.ndim != 1 or parameter.shape[0] != shape[axis]:
        raise _misfit(parameter, shape, axis)
    return parameter.reshape((-1,) + (1,) * (rank - axis - 1))


def _misfit(parameter: Array, shape: tuple[int, ...], axis: int) -> Refused:
    return Refused(
        f"a scale or zero point of shape {list(parameter.shape)} does not fit axis {axis} "
        f"of a tensor of shape {list(shape)}"
    )


def round_half_even(quotient: Array, zero_point: Array | int, dtype: DTypeLike) -> Array:
    """saturate(round-half-even(quotient) + zero point) as codes of an integer type.

    NaN becomes the lowest code, as in onnxruntime (ONNX leaves it open); infinities saturate.
    """
    low, high = code_range(dtype)
    codes = np.rint(quotient.astype(np.float64)) + np.asarray(zero_point).astype(np.float64)
    codes = np.where(np.isnan(codes), low, np.clip(codes, low, high))
    return codes.astype(np.int64).astype(dtype)


def quantize_linear(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    dtype: DTypeLike = np.uint8,
    *,
    axis: int = 1,
    block_size: int = 0,
) -> Array:
    """QuantizeLinear: saturate(round-half-even(x / scale) + zero point).

    The division is made in float32, also of float16 and bfloat16: there onnxruntime departs from
    ONNX, which takes the type of the scale. `dtype` counts where there is no zero point.
    """
    scale = expand_parameter(scale, x.shape, axis, block_size)
    offset: Array | int = 0
    if zero_point is not None:
        dtype = zero_point.dtype
        offset = expand_parameter(zero_point, x.shape, axis, block_size)
    with np.errstate(all="ignore"):
        quotient = x.astype(np.float32) / scale.astype(np.float32)
    return round_half_even(quotient, offset, dtype)


def dequantize_linear(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    dtype: DTypeLike | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
) -> Array:
    """DequantizeLinear: (x - zero point) * scale, in `dtype` or else the scale's type.

    The difference is exact, the product is float32 rounded to the type of the result.
    """
    code_range(x.dtype)
    factor = expand_parameter(scale, x.shape, axis, block_size).astype(np.float32)
    codes = x.astype(np.int64)
    if zero_point is not None:
        codes = codes - expand_parameter(zero_point, x.shape, axis, block_size).astype(np.int64)
    with np.errstate(all="ignore"):
        product = codes.astype(np.float32) * factor
        return product.astype(scale.dtype if dtype is None else dtype)


def quantize_bias(bias: Array, scale: Array) -> Array:
    """An int32 bias on the grid of `scale` (input scale * weight scale), zero point 0.

    Rank 1 bias and scale of size 1 or of the bias's length. Computed in float64, as the quotient of
    a float16 model exceeds float16. `Refused` where a scale is not positive and finite, the bias is
    not finite, or a code leaves int32: onnxruntime would flip its sign.
    """
    factor = _positive(expand_parameter(scale, bias.shape, axis=0))
    return _int32(np.rint(bias.astype(np.float64) / factor))


def requantize_bias(
    codes: Array, scale: Array, zero_point: Array | None, new_scale: Array, relative: float = 1e-6
) -> Array:
    """The int32 bias `codes` on another grid, where each value survives within `relative`.

    Zero point of the result is 0. `Refused` where a value is not representable on the new grid.
    """
    old = _positive(expand_parameter(scale, codes.shape, axis=0))
    new = _positive(expand_parameter(new_scale, codes.shape, axis=0))
    difference = codes.astype(np.int64)
    if zero_point is not None:
        difference = difference - expand_parameter(zero_point, codes.shape, 0).astype(np.int64)
    exact = difference * (old / new)
    rounded = np.rint(exact)
    if not (np.abs(rounded - exact) <= relative * np.abs(exact)).all():
        raise Refused("the bias has values that the grid of input scale * weight scale lacks")
    return _int32(rounded)


def _positive(scale: Array) -> NDArray[np.float64]:
    wide = scale.astype(np.float64)
    if not (np.isfinite(wide) & (wide > 0)).all():
        raise Refused("a scale of the bias is not positive and finite")
    return wide


def _int32(codes: NDArray[np.float64]) -> Array:
    low, high = RANGES[np.dtype(np.int32)]
    if not ((codes >= low) & (codes <= high)).all():
        raise Refused("the bias does not fit into int32 at input scale * weight scale")
    return codes.astype(np.int32)
