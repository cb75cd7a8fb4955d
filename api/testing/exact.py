"""Quantized operators in exact arithmetic on the codes: what every fused op is measured against.

Written from the ONNX definitions and sharing no numerics with the rest of the package. Each
function takes the op's inputs in the op's order (None: absent) and its attributes as keywords.
Sums are exact: zero points are subtracted and products summed in float64, where every partial sum
is an integer below 2**53. Then comes the real-number scale (float64), round half to even, the zero
point, saturation. Ops that work element by element are computed as the unfused graph defines them,
in float32 step by step. `evaluate(node, inputs)` does it for a NodeProto.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from .sessions import run_node

Array = NDArray[Any]
Attributes = dict[str, Any]


# ---- codes and numbers ------------------------------------------------------------------------


def per_channel(parameter: Array, rank: int, axis: int) -> Array:
    """A scale or zero point so shaped that it broadcasts along `axis` of a tensor of `rank`."""
    if parameter.size == 1:
        return parameter.reshape(())
    shape = [1] * rank
    shape[axis % rank] = parameter.size
    return parameter.reshape(shape)


def centred(codes: Array, zero_point: Array | None, axis: int = 1) -> Array:
    """codes - zero point, as float64 integers."""
    wide = codes.astype(np.float64)
    if zero_point is None:
        return wide
    return wide - per_channel(zero_point.astype(np.float64), codes.ndim, axis)


def real(codes: Array, scale: Array, zero_point: Array | None, axis: int = 1) -> Array:
    """The real numbers that codes stand for, without float32 rounding."""
    factor = per_channel(scale.astype(np.float64), codes.ndim, axis)
    return centred(codes, zero_point, axis) * factor


def snapped(quotient: Array) -> Array:
    """As float64; what float64 arithmetic left within 5e-10 of a tie is the tie.

    So that two orders of the same exact computation never round a tie to different sides.
    """
    if quotient.dtype != np.float64:
        return np.asarray(quotient, np.float64)
    return np.asarray(np.round(quotient, 9))


def saturate(
    quotient: Array, zero_point: Array | None, dtype: Any = np.uint8, axis: int = 1
) -> Array:
    """saturate(round-half-even(quotient) + zero point); a float64 quotient is `snapped` first."""
    if zero_point is not None:
        dtype = zero_point.dtype
    limits = np.iinfo(dtype)
    codes = np.rint(snapped(quotient))
    if zero_point is not None:
        codes = codes + float(zero_point.reshape(()))
    codes = np.where(np.isnan(codes), limits.min, codes)
    return np.clip(codes, limits.min, limits.max).astype(dtype)


def single(codes: Array, scale: Array, zero_point: Array | None) -> Array:
    """DequantizeLinear in float32, per tensor."""
    return centred(codes, zero_point).astype(np.float32) * np.float32(scale.reshape(()))


def quantize(values: Array, scale: Array, zero_point: Array | None, dtype: Any = np.uint8) -> Array:
    """Numbers as codes of one grid, per tensor; divided in the precision of `values`."""
    with np.errstate(all="ignore"):
        return saturate(values / scale.reshape(()).astype(values.dtype), zero_point, dtype)


def quanta(expected: Array, actual: Array) -> tuple[int, float]:
    """The largest difference between two integer tensors, and the share of elements that differ."""
    assert expected.shape == actual.shape, (expected.shape, actual.shape)
    assert expected.dtype == actual.dtype, (expected.dtype, actual.dtype)
    if not expected.size:
        return 0, 0.0
    difference = np.abs(expected.astype(np.int64) - actual.astype(np.int64))
    return int(difference.max()), float((difference > 0).mean())


# ---- windows ----------------------------------------------------------------------------------


def _padding(
    size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int], auto: str, ceil: bool
) -> tuple[int, int, int]:
    """Of one spatial dimension: padding before, padding after, and overhang beyond the padding."""
    extent = (kernel - 1) * dilation + 1
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        total = max((math.ceil(size / stride) - 1) * stride + extent - size, 0)
        small, large = total // 2, total - total // 2
        pads = (small, large) if auto == "SAME_UPPER" else (large, small)
    elif auto == "VALID":
        pads = (0, 0)
    before, after = pads
    if not ceil:
        return before, after, 0
    count = math.ceil((size + before + after - extent) / stride) + 1
    if (count - 1) * stride >= size + before:  # the last window may not start in the padding
        count -= 1
    return before, after, max((count - 1) * stride + extent - (size + before + after), 0)


class Windows:
    """The sliding windows of a pool or convolution over a tensor N x C x spatial."""

    def __init__(self, shape: Sequence[int], kernel: Sequence[int], attributes: Attributes) -> None:
        rank = len(kernel)
        self.kernel = tuple(kernel)
        self.strides = tuple(attributes.get("strides") or [1] * rank)
        self.dilations = tuple(attributes.get("dilations") or [1] * rank)
        pads = attributes.get("pads") or [0] * (2 * rank)
        auto = attributes.get("auto_pad", "NOTSET")
        ceil = bool(attributes.get("ceil_mode", 0))
        self.margins = [
            _padding(size, k, s, d, (pads[i], pads[i + rank]), auto, ceil)
            for i, (size, k, s, d) in enumerate(
                zip(shape[2:], self.kernel, self.strides, self.dilations, strict=True)
            )
        ]

    def take(self, x: Array, padding: float, overhang: float) -> Array:
        """N x C x output spatial x kernel, filled with `padding` and, beyond it, `overhang`."""
        keep = [(0, 0), (0, 0)]
        x = np.pad(x, keep + [(m[0], m[1]) for m in self.margins], constant_values=padding)
        x = np.pad(x, keep + [(0, m[2]) for m in self.margins], constant_values=overhang)
        extents = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        axes = tuple(range(2, x.ndim))
        windows = np.lib.stride_tricks.sliding_window_view(x, extents, axis=axes)
        spatial = tuple(slice(None, None, stride) for stride in self.strides)
        inside = tuple(slice(None, None, dilation) for dilation in self.dilations)
        return windows[(slice(None), slice(None), *spatial, *inside)]

    @property
    def kernel_axes(self) -> tuple[int, ...]:
        return tuple(range(-len(self.kernel), 0))


def convolve(x: Array, w: Array, attributes: Attributes) -> Array:
    """The exact convolution of centred codes."""
    group = attributes.get("group", 1)
    windows = Windows(x.shape, w.shape[2:], attributes)
    taken = windows.take(x, 0, 0)
    spatial = taken.shape[2 : 2 + len(windows.kernel)]
    batch, channels, filters = x.shape[0], x.shape[1], w.shape[0]
    columns = np.moveaxis(taken, 1, 1 + len(spatial)).reshape(
        batch, *spatial, group, channels // group, -1
    )
    columns = columns.reshape(batch, *spatial, group, -1)
    kernels = w.reshape(group, filters // group, -1)
    sums = np.matmul(columns[..., None, :], np.swapaxes(kernels, 1, 2))[..., 0, :]
    return np.moveaxis(sums.reshape(batch, *spatial, filters), -1, 1)


# ---- ops that accumulate ----------------------------------------------------------------------


def qlinear_conv(
    x: Array, xs: Array, xz: Array | None, w: Array, ws: Array, wz: Array | None, ys: Array,
    yz: Array | None, b: Array | None = None, **attributes: Any,
) -> Array:  # fmt: skip
    """QLinearConv; per-channel weights along axis 0."""
    sums = convolve(centred(x, xz), centred(w, wz, 0), attributes)
    if b is not None:
        sums = sums + per_channel(b.astype(np.float64), sums.ndim, 1)
    scale = float(xs.reshape(())) * per_channel(ws.astype(np.float64), sums.ndim, 1)
    return saturate(sums * (scale / float(ys.reshape(()))), yz, x.dtype)


def conv_integer(
    x: Array, w: Array, xz: Array | None = None, wz: Array | None = None, **attributes: Any
) -> Array:
    """ConvInteger."""
    return np.asarray(convolve(centred(x, xz), centred(w, wz, 0), attributes), np.int32)


def matmul_integer(a: Array, b: Array, az: Array | None = None, bz: Array | None = None) -> Array:
    """MatMulInteger; zero points per row of a, per column of b."""
    sums = np.matmul(centred(a, az, -2 if a.ndim > 1 else 0), centred(b, bz, -1))
    return np.asarray(sums, np.int32)


def _product_scale(a_scale: Array, b_scale: Array, rank: int) -> Array:
    return per_channel(a_scale.astype(np.float64), rank, -2) * per_channel(
        b_scale.astype(np.float64), rank, -1
    )


def qlinear_matmul(
    a: Array, a_scale: Array, az: Array | None, b: Array, b_scale: Array, bz: Array | None,
    ys: Array, yz: Array | None,
) -> Array:  # fmt: skip
    """QLinearMatMul; a per tensor or per row, b per tensor or per column."""
    sums = np.matmul(centred(a, az, -2 if a.ndim > 1 else 0), centred(b, bz, -1))
    scale = _product_scale(a_scale, b_scale, max(sums.ndim, 1))
    return saturate(sums * (scale / float(ys.reshape(()))), yz, a.dtype)


def matmul_integer_to_float(
    a: Array, b: Array, a_scale: Array, b_scale: Array, az: Array | None = None,
    bz: Array | None = None, bias: Array | None = None,
) -> Array:  # fmt: skip
    """com.microsoft.MatMulIntegerToFloat."""
    sums = np.matmul(centred(a, az, -2 if a.ndim > 1 else 0), centred(b, bz, -1))
    product = sums * _product_scale(a_scale, b_scale, max(sums.ndim, 1))
    return np.asarray(product if bias is None else product + bias, np.float32)


def dynamic_quantize_matmul(
    x: Array, b: Array, b_scale: Array, bz: Array | None = None, bias: Array | None = None
) -> Array:
    """com.microsoft.DynamicQuantizeMatMul; onnxruntime quantizes x, NaN and all."""
    node = onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["codes", "scale", "zero"])
    codes, scale, zero = run_node(node, [x], [onnx.helper.make_opsetid("", 11)])
    return matmul_integer_to_float(codes, b, scale, b_scale, zero, bz, bias)


def qgemm(
    a: Array, a_scale: Array, az: Array | None, b: Array, b_scale: Array, bz: Array | None,
    c: Array | None = None, ys: Array | None = None, yz: Array | None = None, *,
    transA: int = 0, transB: int = 0, alpha: float = 1.0,
) -> Array:  # fmt: skip
    """com.microsoft.QGemm; c is on the grid a_scale * b_scale and is not multiplied by alpha."""
    left = centred(a, az)
    right = centred(b, bz, 0 if transB else 1)
    sums = (left.T if transA else left) @ (right.T if transB else right)
    scale = float(a_scale.reshape(())) * per_channel(b_scale.astype(np.float64), 2, 1)
    product = float(np.float32(alpha)) * sums * scale
    if c is not None:
        product = product + c.astype(np.float64) * scale
    if ys is None:
        return product.astype(np.float32)
    return saturate(product / float(ys.reshape(())), yz, a.dtype)


# ---- element by element -----------------------------------------------------------------------


def qlinear_binary(operation: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """com.microsoft.QLinearAdd and QLinearMul."""

    def op(
        a: Array, a_scale: Array, az: Array | None, b: Array, b_scale: Array, bz: Array | None,
        cs: Array, cz: Array | None = None,
    ) -> Array:  # fmt: skip
        result = operation(single(a, a_scale, az), single(b, b_scale, bz))
        return quantize(result, cs, cz, a.dtype)

    return op


def qlinear_unary(operation: Callable[..., Array]) -> Callable[..., Array]:
    """com.microsoft.QLinearSigmoid and QLinearLeakyRelu."""

    def op(
        x: Array, xs: Array, xz: Array | None, ys: Array, yz: Array | None = None, **attributes: Any
    ) -> Array:
        return quantize(operation(single(x, xs, xz), **attributes), ys, yz, x.dtype)

    return op


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def leaky_relu(x: Array, alpha: float = 0.01) -> Array:
    return np.where(x < 0, np.float32(alpha) * x, x)


def qlinear_softmax(
    x: Array, xs: Array, xz: Array | None, ys: Array, yz: Array, *, opset: int, axis: int = -1
) -> Array:
    """com.microsoft.QLinearSoftmax; before opset 13 the axis and all after it are one."""
    values = single(x, xs, xz)
    if opset < 13:
        values = values.reshape(math.prod(x.shape[: axis % x.ndim]), -1)
        axis = 1
    weights = np.exp(values - values.max(axis=axis, keepdims=True))
    share = weights / weights.sum(axis=axis, keepdims=True)
    return quantize(share.reshape(x.shape), ys, yz, x.dtype)


def qlinear_concat(ys: Array, yz: Array, *operands: Array, axis: int) -> Array:
    """com.microsoft.QLinearConcat: operands are (x, scale, zero point) triples."""
    parts = [
        quantize(single(operands[i], operands[i + 1], operands[i + 2]), ys, yz)
        for i in range(0, len(operands), 3)
    ]
    return np.concatenate(parts, axis=axis)


def qlinear_where(
    condition: Array, x: Array, xs: Array, xz: Array, y: Array, ys: Array, yz: Array, zs: Array,
    zz: Array,
) -> Array:  # fmt: skip
    """com.microsoft.QLinearWhere."""
    return quantize(np.where(condition, single(x, xs, xz), single(y, ys, yz)), zs, zz)


# ---- pools ------------------------------------------------------------------------------------


def _first_channels(operation: Callable[..., Array]) -> Callable[..., Array]:
    """Attribute channels_last = 1: the same on N x spatial x C."""

    def op(x: Array, *parameters: Array, channels_last: int = 0, **attributes: Any) -> Array:
        if not channels_last:
            return operation(x, *parameters, **attributes)
        return np.moveaxis(operation(np.moveaxis(x, -1, 1), *parameters, **attributes), 1, -1)

    return op


@_first_channels
def qlinear_average_pool(
    x: Array, xs: Array, xz: Array | None, ys: Array, yz: Array | None = None, *,
    kernel_shape: Sequence[int], count_include_pad: int = 0, **attributes: Any,
) -> Array:  # fmt: skip
    """com.microsoft.QLinearAveragePool; what hangs over the padding (ceil_mode) never counts."""
    windows = Windows(x.shape, kernel_shape, attributes)
    sums = windows.take(centred(x, xz), 0, 0).sum(axis=windows.kernel_axes)
    counts = windows.take(np.ones(x.shape), count_include_pad, 0).sum(axis=windows.kernel_axes)
    return quantize(sums / counts * float(xs.reshape(())), ys, yz, x.dtype)


@_first_channels
def qlinear_global_average_pool(
    x: Array, xs: Array, xz: Array | None, ys: Array, yz: Array | None
) -> Array:
    """com.microsoft.QLinearGlobalAveragePool."""
    spatial = tuple(range(2, x.ndim))
    return quantize(real(x, xs, xz).mean(axis=spatial, keepdims=True), ys, yz, x.dtype)


def max_pool(x: Array, *, kernel_shape: Sequence[int], **attributes: Any) -> Array:
    """MaxPool on codes."""
    lowest = int(np.iinfo(x.dtype).min)
    windows = Windows(x.shape, kernel_shape, attributes)
    return np.asarray(windows.take(x, lowest, lowest).max(axis=windows.kernel_axes))


# ---- nodes ------------------------------------------------------------------------------------

OPS: dict[tuple[str, str], Callable[..., Array]] = {
    ("", "QLinearConv"): qlinear_conv,
    ("", "ConvInteger"): conv_integer,
    ("", "QLinearMatMul"): qlinear_matmul,
    ("", "MatMulInteger"): matmul_integer,
    ("", "MaxPool"): max_pool,
    ("com.microsoft", "QGemm"): qgemm,
    ("com.microsoft", "MatMulIntegerToFloat"): matmul_integer_to_float,
    ("com.microsoft", "DynamicQuantizeMatMul"): dynamic_quantize_matmul,
    ("com.microsoft", "QLinearAdd"): qlinear_binary(np.add),
    ("com.microsoft", "QLinearMul"): qlinear_binary(np.multiply),
    ("com.microsoft", "QLinearSigmoid"): qlinear_unary(sigmoid),
    ("com.microsoft", "QLinearLeakyRelu"): qlinear_unary(leaky_relu),
    ("com.microsoft", "QLinearSoftmax"): qlinear_softmax,
    ("com.microsoft", "QLinearConcat"): qlinear_concat,
    ("com.microsoft", "QLinearWhere"): qlinear_where,
    ("com.microsoft", "QLinearAveragePool"): qlinear_average_pool,
    ("com.microsoft", "QLinearGlobalAveragePool"): qlinear_global_average_pool,
}


def evaluate(node: onnx.NodeProto, inputs: Sequence[Array | None]) -> Array:
    """The exact first output of a fused node; KeyError for an op that is not here."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    attributes: Attributes = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        attributes[attribute.name] = value.decode() if isinstance(value, bytes) else value
    names = {"kernel_shape"} if node.op_type in ("QLinearConv", "ConvInteger") else set()
    names |= {"storage_order"}
    kept = {key: value for key, value in attributes.items() if key not in names}
    return OPS[domain, node.op_type](*inputs, **kept)
