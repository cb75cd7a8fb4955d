"""Quantizing constants, and giving codes another grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qrewrite.engine import dtypes
from qrewrite.engine.errors import Refused
from qrewrite.engine.numerics import quantization as numerics

from .function import (
    Accepts,
    Function,
    Parameter,
    Result,
    element_type,
    optional_number,
    quantized,
    tensor,
)
from .quantized import Quantized, const, type_part, zeros

_SMALLEST_SCALE = 1e-30
"""Below it a float32 scale, or a product of two, may become zero."""


def functions() -> tuple[Function, ...]:
    return linear() + weights() + biases()


def linear() -> tuple[Function, ...]:
    return (
        Function(
            "quantize_like",
            (tensor("v"), quantized("q")),
            Result.QUANTIZED,
            "v on the grid of q, as QuantizeLinear rounds it.",
            _quantize_like,
        ),
        Function(
            "dequantize",
            (quantized("q"),),
            Result.TENSOR,
            "The values of a quantized constant, as DequantizeLinear computes them.",
            _dequantize,
        ),
        Function(
            "quantized",
            (
                Parameter("data", Accepts.VALUE),
                Parameter("scale", Accepts.VALUE),
                Parameter("zero_point", Accepts.VALUE, required=False),
                optional_number("axis"),
            ),
            Result.QUANTIZED,
            "A quantized tensor of these parts.",
            _quantized,
        ),
        Function(
            "recode",
            (quantized("q"), element_type("type")),
            Result.QUANTIZED,
            "The same values in codes of the other signedness: codes and zero points move by half "
            "of the range (i8 and u8 by 128). none for other types.",
            _recode,
        ),
    )


def weights() -> tuple[Function, ...]:
    w, kind, axis = tensor("w"), element_type("type"), optional_number("axis")
    return (
        Function(
            "quantize_symmetric",
            (w, kind, axis, optional_number("bits", 8)),
            Result.QUANTIZED,
            "w / scale rounded half to even, scale = max|w| / (2^(bits-1) - 1) in float32, zero "
            "point 0; one scale for each index of axis, or one. A slice of zeros has scale 1.",
            _symmetric,
        ),
        Function(
            "quantize_asymmetric",
            (w, kind),
            Result.QUANTIZED,
            "One scale (max(w, 0) - min(w, 0)) / range and a zero point, over the whole range of "
            "the type, as onnxruntime quantizes weights.",
            _asymmetric,
        ),
        Function(
            "quantize_weight",
            (w, Parameter("mode", Accepts.TEXT), optional_number("axis")),
            Result.QUANTIZED,
            "w in int8: mode per_channel (symmetric along axis), per_tensor (symmetric), seven_bit "
            "(per channel, within 64) or asymmetric.",
            _weight,
        ),
    )


def biases() -> tuple[Function, ...]:
    return (
        Function(
            "quantize_bias",
            (tensor("b"), tensor("scale")),
            Result.QUANTIZED,
            "b in int32 with this scale, zero point 0, rounded half to even; one scale, or one an "
            "element. none where a code leaves int32 or a scale is not positive and finite.",
            _bias,
        ),
        Function(
            "requantize_exactly",
            (quantized("b"), tensor("scale")),
            Result.QUANTIZED,
            "An int32 bias on another grid; none where one of its values would change.",
            _requantize,
        ),
    )


def _numpy(kind: int) -> Any:
    return dtypes.numpy_dtype(kind)


def _quantize_like(v: Any, q: Quantized) -> Quantized | None:
    scale, kind = const(q.scale), type_part(q)
    zero_point = None if q.zero_point is None else const(q.zero_point)
    if scale is None or not kind or (q.zero_point is not None and zero_point is None):
        return None
    array = np.asarray(v)
    if not array.dtype.name.startswith(("float", "bfloat")):
        array = array.astype(np.float32)
    axis = 1 if q.axis is None else q.axis
    codes = numerics.quantize_linear(
        array, scale, zero_point, _numpy(kind), axis=axis, block_size=q.block_size
    )
    return replace(q, data=codes)


def _dequantize(q: Quantized) -> Any:
    data, scale = const(q.data), const(q.scale)
    zero_point = None if q.zero_point is None else const(q.zero_point)
    if data is None or scale is None or (q.zero_point is not None and zero_point is None):
        return None
    axis = 1 if q.axis is None else q.axis
    return numerics.dequantize_linear(data, scale, zero_point, axis=axis, block_size=q.block_size)


def _quantized(data: Any, scale: Any, zero_point: Any, axis: Any) -> Quantized | None:
    if isinstance(scale, int | float):
        scale = np.asarray(scale, np.float32)
    if isinstance(zero_point, int | float):
        if not type_part(data):
            return None
        zero_point = np.asarray(zero_point, _numpy(type_part(data)))
    return Quantized(data, scale, zero_point, None if axis is None else int(axis))


def _recode(q: Quantized, kind: int) -> Quantized | None:
    old = dtypes.integer_range(type_part(q))
    new = dtypes.integer_range(kind)
    data = const(q.data)
    if old is None or new is None or data is None or new[1] - new[0] != old[1] - old[0]:
        return None
    shift = new[0] - old[0]
    zero_point = zeros(type_part(q), ()) if q.zero_point is None else const(q.zero_point)
    if zero_point is None:
        return None
    if q.zero_point is None:
        zero_point = zeros(type_part(q), np.asarray(const(q.scale)).shape)
    return replace(
        q, data=_shifted(data, shift, kind), zero_point=_shifted(zero_point, shift, kind)
    )


def _shifted(codes: Any, shift: int, kind: int) -> Any:
    return (np.asarray(codes).astype(np.int64) + shift).astype(_numpy(kind))


def _symmetric(w: Any, kind: int, axis: Any, bits: Any) -> Quantized | None:
    weights, bounds = _finite_floats(w), dtypes.integer_range(kind)
    if weights is None or bounds is None or bounds[0] >= 0:
        return None
    limit = min(2 ** (int(bits) - 1) - 1, bounds[1])
    if axis is None:
        largest = np.abs(weights).max()
    else:
        axis = int(axis) % weights.ndim
        others = tuple(each for each in range(weights.ndim) if each != axis)
        largest = np.abs(weights).max(axis=others)
    scale = (largest / np.float32(limit)).astype(np.float32)
    scale = np.asarray(np.where(largest == 0, np.float32(1), scale), np.float32)
    if not bool((scale >= _SMALLEST_SCALE).all()):
        return None
    shaped = numerics.expand_parameter(scale, weights.shape, 0 if axis is None else axis)
    codes = np.clip(np.rint(weights / shaped), -limit, limit).astype(_numpy(kind))
    return Quantized(codes, scale, np.zeros(scale.shape, _numpy(kind)), axis)


def _asymmetric(w: Any, kind: int) -> Quantized | None:
    weights, bounds = _finite_floats(w), dtypes.integer_range(kind)
    if weights is None or bounds is None:
        return None
    low, high = bounds
    least = np.minimum(weights.min(), np.float32(0))
    most = np.maximum(weights.max(), np.float32(0))
    scale = np.float32(1) if most == least else (most - least) / np.float32(high - low)
    if not scale >= _SMALLEST_SCALE:
        return None
    offset = np.float32(low) - least / scale
    zero_point = np.asarray(np.rint(np.clip(offset, low, high)), _numpy(kind))
    step = np.asarray(scale, np.float32)
    codes = numerics.quantize_linear(weights, step, zero_point)
    return Quantized(codes, step, zero_point, None)


def _finite_floats(w: Any) -> Any:
    """Weights as float32; None where there are none or one is not finite."""
    weights = np.asarray(w).astype(np.float32)
    return weights if weights.size and bool(np.isfinite(weights).all()) else None


def _weight(w: Any, mode: str, axis: Any) -> Quantized | None:
    kind = dtypes.number("i8")
    if mode == "asymmetric":
        return _asymmetric(w, kind)
    return _symmetric(
        w, kind, None if mode == "per_tensor" else axis, 7 if mode == "seven_bit" else 8
    )


def _bias(b: Any, scale: Any) -> Quantized | None:
    step = np.asarray(scale)
    try:
        codes = numerics.quantize_bias(np.asarray(b), step)
    except Refused:
        return None
    return _int32(codes, step)


def _requantize(b: Quantized, scale: Any) -> Quantized | None:
    data, old = const(b.data), const(b.scale)
    zero_point = None if b.zero_point is None else const(b.zero_point)
    if data is None or old is None or (b.zero_point is not None and zero_point is None):
        return None
    step = np.asarray(scale)
    try:
        codes = numerics.requantize_bias(data, old, zero_point, step)
    except Refused:
        return None
    return _int32(codes, step)


def _int32(codes: Any, scale: Any) -> Quantized:
    single = scale.ndim == 0 or scale.shape == (1,)
    return Quantized(codes, scale, np.zeros(scale.shape, np.int32), None if single else 0)
