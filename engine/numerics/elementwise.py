"""Element-wise ops in numpy: as ONNX defines them, those of com.microsoft as their kernels are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from .. import dtypes
from ..attributes import attribute
from ..graph import Node
from .quantization import dequantize_linear, quantize_linear, round_half_even

Array = NDArray[Any]
Inputs = Sequence[Array | None]
Kernel = Callable[[Node, Inputs], Array]

_FLOATS = (np.float16, np.float32, np.float64)
_WIDE = (np.float32, np.float64)
"""Types in which an op of several steps is computed here as everywhere."""


class NotComparable(Exception):
    """The op, or this use of it, is not computed here."""


def _input(inputs: Inputs, slot: int, types: tuple[Any, ...] = ()) -> Array:
    array = inputs[slot] if slot < len(inputs) else None
    if array is None or (types and array.dtype not in types):
        raise NotComparable
    return array


def _optional(inputs: Inputs, slot: int) -> Array | None:
    return inputs[slot] if slot < len(inputs) else None


# ---- quantization -----------------------------------------------------------------------------


def _per_tensor(*parameters: Array | None) -> None:
    if any(parameter is not None and parameter.size != 1 for parameter in parameters):
        raise NotComparable


def _quantize(node: Node, inputs: Inputs) -> Array:
    x, scale, zero_point = _input(inputs, 0), _input(inputs, 1), _optional(inputs, 2)
    _per_tensor(scale, zero_point)
    if attribute(node, "precision", 0) not in (0, TensorProto.FLOAT):
        raise NotComparable
    dtype = attribute(node, "output_dtype", 0) or TensorProto.UINT8
    return quantize_linear(x, _scalar(scale), _scalar(zero_point), dtypes.numpy_dtype(dtype))


def _dequantize(node: Node, inputs: Inputs) -> Array:
    x, scale, zero_point = _input(inputs, 0), _input(inputs, 1), _optional(inputs, 2)
    _per_tensor(scale, zero_point)
    output = attribute(node, "output_dtype", 0)
    dtype = dtypes.numpy_dtype(output) if output else None
    return dequantize_linear(x, _scalar(scale), _scalar(zero_point), dtype)


def _scalar(parameter: Any) -> Any:
    return None if parameter is None else parameter.reshape(())


# ---- arithmetic -------------------------------------------------------------------------------


def _binary(operation: Callable[[Array, Array], Array]) -> Kernel:
    def kernel(node: Node, inputs: Inputs) -> Array:
        return operation(_input(inputs, 0, _FLOATS), _input(inputs, 1, _FLOATS))

    return kernel


def _unary(operation: Callable[[Array], Array]) -> Kernel:
    def kernel(node: Node, inputs: Inputs) -> Array:
        return operation(_input(inputs, 0, _FLOATS))

    return kernel


def _extreme(operation: Callable[[Array, Array], Array]) -> Kernel:
    """Max and Min of any number of inputs, of integers too."""

    def kernel(node: Node, inputs: Inputs) -> Array:
        result = _input(inputs, 0)
        for slot in range(1, len(inputs)):
            result = operation(result, _input(inputs, slot))
        return result

    return kernel


def _identity(node: Node, inputs: Inputs) -> Array:
    return _input(inputs, 0)


def _relu(node: Node, inputs: Inputs) -> Array:
    x = _input(inputs, 0)
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def _clip(node: Node, inputs: Inputs) -> Array:
    """Bounds are inputs, before opset 11 attributes; the upper one wins where they cross."""
    x = _input(inputs, 0)
    low, high = _optional(inputs, 1), _optional(inputs, 2)
    if low is None and "min" in node.attributes:
        low = np.asarray(attribute(node, "min"), x.dtype)
    if high is None and "max" in node.attributes:
        high = np.asarray(attribute(node, "max"), x.dtype)
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _leaky_relu(node: Node, inputs: Inputs) -> Array:
    x = _input(inputs, 0, _WIDE)
    return np.where(x < 0, x.dtype.type(attribute(node, "alpha", 0.01)) * x, x)


def _prelu(node: Node, inputs: Inputs) -> Array:
    x, slope = _input(inputs, 0, _FLOATS), _input(inputs, 1, _FLOATS)
    return np.where(x < 0, slope * x, x)


def _square(node: Node, inputs: Inputs) -> Array:
    x, exponent = _input(inputs, 0, _WIDE), _input(inputs, 1)
    if not (exponent == 2).all():
        raise NotComparable
    return x * x


def _hard_sigmoid(node: Node, inputs: Inputs) -> Array:
    x = _input(inputs, 0, _WIDE)
    one = x.dtype.type
    ramp = one(attribute(node, "alpha", 0.2)) * x + one(attribute(node, "beta", 0.5))
    return np.asarray(np.clip(ramp, one(0), one(1)))


def _hard_swish(node: Node, inputs: Inputs) -> Array:
    x = _input(inputs, 0, _WIDE)
    one = x.dtype.type
    return np.asarray(x * np.clip(one(np.float32(1 / 6)) * x + one(0.5), one(0), one(1)))


def _cast(node: Node, inputs: Inputs) -> Array:
    """Only where ONNX defines the result: not of numbers that the integer type does not have."""
    x = _input(inputs, 0)
    to = attribute(node, "to", 0)
    limits = dtypes.integer_range(to)
    if limits is not None:
        whole = np.trunc(x.astype(np.float64))
        if not ((whole >= limits[0]) & (whole <= limits[1])).all():
            raise NotComparable
    elif to not in dtypes.FLOATS:
        raise NotComparable
    return x.astype(dtypes.numpy_dtype(to))


# ---- com.microsoft ----------------------------------------------------------------------------


def _codes(inputs: Inputs, slot: int) -> tuple[Array, Array, Array | None]:
    """Codes, scale and zero point (or None) from three inputs in a row, per tensor."""
    x, scale, zero_point = (
        _input(inputs, slot), _input(inputs, slot + 1), _optional(inputs, slot + 2)
    )  # fmt: skip
    _per_tensor(scale, zero_point)
    return x, scale.reshape(()), _scalar(zero_point)


def _output_grid(inputs: Inputs, slot: int, dtype: Any) -> tuple[Array, Array]:
    """Scale and zero point of the result; an absent zero point is a zero of the input's type."""
    scale, zero_point = _input(inputs, slot), _optional(inputs, slot + 1)
    _per_tensor(scale, zero_point)
    return scale.reshape(()), np.zeros((), dtype) if zero_point is None else _scalar(zero_point)


def _qlinear_binary(operation: Callable[[Array, Array], Array]) -> Kernel:
    """QLinearAdd and QLinearMul add the zero point before they round, which moves ties."""

    def kernel(node: Node, inputs: Inputs) -> Array:
        a, b = (_exactly(*_codes(inputs, slot)) for slot in (0, 3))
        scale, zero_point = _output_grid(inputs, 6, _input(inputs, 0).dtype)
        shifted = operation(a, b) / scale.astype(np.float64) + zero_point.astype(np.float64)
        return round_half_even(shifted, 0, zero_point.dtype)

    return kernel


def _exactly(x: Array, scale: Array, zero_point: Array | None) -> Array:
    offset = 0 if zero_point is None else zero_point.astype(np.float64)
    return (x.astype(np.float64) - offset) * scale.astype(np.float64)


def table(operation: Kernel) -> Kernel:
    """A table made by the float op between an ordinary DequantizeLinear and QuantizeLinear."""

    def kernel(node: Node, inputs: Inputs) -> Array:
        x = _codes(inputs, 0)
        result = operation(node, [dequantize_linear(*x)])
        return quantize_linear(result, *_output_grid(inputs, 3, x[0].dtype))

    return kernel


def _qlinear_concat(node: Node, inputs: Inputs) -> Array:
    grid = _output_grid(inputs, 0, _input(inputs, 2).dtype)
    parts = [
        quantize_linear(dequantize_linear(*_codes(inputs, slot)), *grid)
        for slot in range(2, len(inputs), 3)
    ]
    return np.concatenate(parts, axis=attribute(node, "axis"))


def _concat(node: Node, inputs: Inputs) -> Array:
    parts = [_input(inputs, slot) for slot in range(len(inputs))]
    return np.concatenate(parts, axis=attribute(node, "axis"))


KERNELS: dict[str, Kernel] = {
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "com.microsoft::QuantizeLinear": _quantize,
    "com.microsoft::DequantizeLinear": _dequantize,
    "Add": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Div": _binary(np.divide),
    "Neg": _unary(np.negative),
    "Abs": _unary(np.abs),
    "Sqrt": _unary(np.sqrt),
    "Reciprocal": _unary(np.reciprocal),
    "Max": _extreme(np.maximum),
    "Min": _extreme(np.minimum),
    "Identity": _identity,
    "Relu": _relu,
    "Clip": _clip,
    "LeakyRelu": _leaky_relu,
    "PRelu": _prelu,
    "Pow": _square,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Cast": _cast,
    "Concat": _concat,
    "com.microsoft::QLinearAdd": _qlinear_binary(np.add),
    "com.microsoft::QLinearMul": _qlinear_binary(np.multiply),
    "com.microsoft::QLinearLeakyRelu": table(_leaky_relu),
    "com.microsoft::QLinearConcat": _qlinear_concat,
}
"""Op -> the function that computes its first output, to the last bit."""
