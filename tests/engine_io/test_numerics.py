"""Q, DQ and bias arithmetic against onnxruntime, onnx's reference, and worked numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from single_node import make_model, make_node, reference, run

from qrewrite.engine.errors import Refused
from qrewrite.engine.numerics.quantization import (
    dequantize_linear,
    quantize_bias,
    quantize_linear,
    requantize_bias,
)

Array = NDArray[Any]
HARD = [0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 0.25, 0.5, 1.5, 2.5, -0.5, -2.5, 1e-40, 3e38]
SCALES = [0.5, 1.0, 0.1, 0.0, -0.0, -0.5, np.nan, np.inf, 1e-45, 1e-38, 3e38]


def ort(op: str, inputs: list[Array | None], output: Any, **attributes: Any) -> Array:
    return run(make_model(make_node(op, inputs, **attributes), inputs, output), inputs)


def same(ours: Array, theirs: Array) -> None:
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("zero_point", [0, 3])
def test_quantize_hard_values_as_onnxruntime(dtype: Any, scale: float, zero_point: int) -> None:
    x = np.asarray([HARD], np.float32)
    s, z = np.asarray(scale, np.float32), np.asarray(zero_point, dtype)
    same(quantize_linear(x, s, z), ort("QuantizeLinear", [x, s, z], dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantize_many(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(0, 3, (40, 500)).astype(np.float32)
    s, z = np.asarray(0.0173, np.float32), np.asarray(17, dtype)
    same(quantize_linear(x, s, z), ort("QuantizeLinear", [x, s, z], dtype))
    model = make_model(make_node("QuantizeLinear", [x, s, z]), [x, s, z], dtype)
    same(quantize_linear(x, s, z), reference(model, [x, s, z]))


def test_ties_go_to_even_before_the_zero_point_is_added() -> None:
    x = np.asarray([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
    codes = quantize_linear(x, np.asarray(1, np.float32), np.asarray(11, np.uint8))
    assert codes.tolist() == [11, 13, 13, 11, 9]


def test_no_zero_point_takes_the_given_type() -> None:
    x = np.asarray([[-3.0, 300.0]], np.float32)
    one = np.asarray(1, np.float32)
    same(quantize_linear(x, one), np.asarray([[0, 255]], np.uint8))
    same(quantize_linear(x, one, None, np.int8), np.asarray([[-3, 127]], np.int8))


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_per_axis(axis: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(0, 3, (6, 8)).astype(np.float32)
    length = x.shape[axis]
    s = rng.uniform(0.01, 0.1, length).astype(np.float32)
    z = rng.integers(-5, 5, length).astype(np.int8)
    codes = quantize_linear(x, s, z, axis=axis)
    same(codes, ort("QuantizeLinear", [x, s, z], np.int8, axis=axis))
    numbers = dequantize_linear(codes, s, z, axis=axis)
    same(numbers, ort("DequantizeLinear", [codes, s, z], np.float32, axis=axis))


@pytest.mark.parametrize("block", [3, 4, 8])
def test_blocked_with_a_last_block_that_is_short(block: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(0, 3, (2, 8, 5)).astype(np.float32)
    shape = (2, -(-8 // block), 5)
    s = rng.uniform(0.01, 0.1, shape).astype(np.float32)
    z = rng.integers(0, 9, shape).astype(np.uint8)
    attributes = {"axis": 1, "block_size": block}
    codes = quantize_linear(x, s, z, **attributes)
    same(codes, ort("QuantizeLinear", [x, s, z], np.uint8, **attributes))
    numbers = dequantize_linear(codes, s, z, **attributes)
    same(numbers, ort("DequantizeLinear", [codes, s, z], np.float32, **attributes))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16])
def test_float16_is_divided_in_float32_as_onnxruntime_does(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(-5, 5, (4, 5000)).astype(np.float16)
    s, z = np.asarray(0.01, np.float16), np.asarray(3, dtype)
    codes = quantize_linear(x, s, z)
    same(codes, ort("QuantizeLinear", [x, s, z], dtype))
    same(dequantize_linear(codes, s, z), ort("DequantizeLinear", [codes, s, z], np.float16))


def test_bfloat16_scales() -> None:
    s = np.asarray(0.5, ml_dtypes.bfloat16)
    codes = quantize_linear(np.asarray([1.5, 2.0]).astype(s.dtype), s, np.asarray(1, np.uint8))
    assert codes.tolist() == [4, 5]
    numbers = dequantize_linear(codes, s, np.asarray(1, np.uint8))
    assert numbers.dtype == ml_dtypes.bfloat16 and numbers.astype(float).tolist() == [1.5, 2.0]


@pytest.mark.parametrize("kind", ["uint4", "int4", "uint2", "int2"])
def test_few_bits_saturate(kind: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, kind))
    x = np.asarray([[-100, -1, 0, 1, 100]], np.float32)
    codes = quantize_linear(x, np.asarray(1, np.float32), None, dtype)
    node = make_node("QuantizeLinear", [x, np.asarray(1, np.float32), np.zeros((), dtype)])
    inputs = [x, np.asarray(1, np.float32), np.zeros((), dtype)]
    same(codes, reference(make_model(node, inputs, dtype, 25), inputs))
    assert dequantize_linear(codes, np.asarray(2, np.float32)).tolist() == [
        [2 * int(code) for code in codes[0]]
    ]


def test_dequantize_int32_is_exact_up_to_the_product() -> None:
    codes = np.asarray([[2**31 - 1, -(2**31), 16777217, 3]], np.int32)
    s = np.asarray(6e-8, np.float32)
    same(dequantize_linear(codes, s), ort("DequantizeLinear", [codes, s], np.float32))


def test_empty_and_scalar_tensors() -> None:
    one = np.asarray(1, np.float32)
    assert quantize_linear(np.zeros((0, 3), np.float32), one).shape == (0, 3)
    assert quantize_linear(np.asarray(2.5, np.float32), one).shape == ()
    assert dequantize_linear(np.asarray(2, np.uint8), np.asarray([3], np.float32)).shape == ()


@pytest.mark.parametrize(
    ("shape", "axis", "words"),
    [((2, 3), 7, "axis 7 is out of range"), ((2, 3), 0, "does not fit axis 0"), ((), 0, "rank 0")],
)
def test_parameters_that_do_not_fit_are_refused(
    shape: tuple[int, ...], axis: int, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        quantize_linear(np.zeros(shape, np.float32), np.ones(3, np.float32), axis=axis)


def test_float_codes_are_refused() -> None:
    with pytest.raises(Refused, match="not an integer type"):
        quantize_linear(np.zeros(3, np.float32), np.ones((), np.float32), None, np.float32)


def test_bias_is_rounded_half_to_even_on_the_product_grid() -> None:
    bias = np.asarray([0.5, 1.5, -2.5, 3.0], np.float32)
    assert quantize_bias(bias, np.asarray(1, np.float32)).tolist() == [0, 2, -2, 3]
    scales = np.asarray([0.5, 0.25, 1, 3], np.float32)
    assert quantize_bias(bias, scales).tolist() == [1, 6, -2, 1]


def test_bias_of_a_float16_model_does_not_overflow_float16() -> None:
    """10 / (0.02 * 0.005) is 100,000: beyond float16, where onnxruntime makes INT32_MIN of it."""
    bias = np.asarray([10], np.float16)
    scale = np.asarray(0.02, np.float16).astype(np.float64) * np.float16(0.005).astype(np.float64)
    assert abs(int(quantize_bias(bias, scale)[0]) - 100_000) < 100


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 1e-10])
def test_a_bias_that_leaves_int32_or_has_no_grid_is_refused(scale: float) -> None:
    with pytest.raises(Refused, match="bias"):
        quantize_bias(np.asarray([1.0], np.float32), np.asarray(scale, np.float32))


def test_requantized_bias_keeps_its_value_or_is_refused() -> None:
    codes = np.asarray([10, -7, 0], np.int32)
    half, quarter = np.asarray(0.5, np.float32), np.asarray(0.25, np.float32)
    assert requantize_bias(codes, half, None, quarter).tolist() == [20, -14, 0]
    zero_point = np.asarray(2, np.int32)
    assert requantize_bias(codes, half, zero_point, half).tolist() == [8, -9, -2]
    even = np.asarray([10, -8, 0], np.int32)
    assert requantize_bias(even, quarter, None, half).tolist() == [5, -4, 0]
    with pytest.raises(Refused, match="grid"):
        requantize_bias(codes, quarter, None, half)
    with pytest.raises(Refused, match="int32"):
        requantize_bias(np.asarray([2**31 - 1], np.int32), half, None, quarter)
