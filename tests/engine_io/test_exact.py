"""The exact reference of the tests, itself checked against onnxruntime and onnx's reference.

Weights are u8, or i8 within 64: beyond that x86 kernels without VNNI saturate silently.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from single_node import make_model, make_node, reference, run

from qrewrite.testing import exact

Array = NDArray[Any]
U8, I8 = np.dtype(np.uint8), np.dtype(np.int8)
RNG = np.random.Generator


def codes(rng: RNG, shape: tuple[int, ...], dtype: Any = U8, limit: int = 128) -> Array:
    low, high = (0, 256) if np.dtype(dtype) == U8 else (-limit, limit)
    return rng.integers(low, high, shape).astype(dtype)


def scale(*values: float) -> Array:
    return np.asarray(values if len(values) > 1 else values[0], np.float32)


def check(
    op: str, inputs: list[Array | None], share: float, output: Any = None, **attributes: Any
) -> None:
    """onnxruntime is within one quantum of the exact result, and that for at most `share`."""
    node = make_node(op, inputs, **attributes)
    first = next(a for a in inputs if a is not None and a.ndim >= 2)
    model = make_model(node, inputs, output or first.dtype)
    expected = exact.evaluate(node, inputs)
    largest, moved = exact.quanta(expected, run(model, inputs))
    assert largest <= 1 and moved <= share, (largest, moved)
    assert expected.size and len(np.unique(expected)) > 3, "the case tests nothing"


CONVOLUTIONS = [
    {},
    {"pads": [1, 1, 1, 1]},
    {"pads": [0, 1, 2, 0], "strides": [2, 1]},
    {"dilations": [2, 1]},
    {"group": 2},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
    {"auto_pad": "VALID"},
]


@pytest.mark.parametrize("attributes", CONVOLUTIONS)
@pytest.mark.parametrize("types", [(U8, U8), (U8, I8), (I8, I8)], ids=str)
def test_qlinear_conv(attributes: dict[str, Any], types: tuple[Any, Any]) -> None:
    rng = np.random.default_rng(1)
    xt, wt = types
    x, w = (
        codes(rng, (2, 4, 9, 8), xt),
        codes(rng, (6, 4 // attributes.get("group", 1), 3, 3), wt, 64),
    )
    per_channel = wt == I8
    ws = scale(*rng.uniform(0.01, 0.05, 6)) if per_channel else scale(0.02)
    wz = np.zeros(6, wt) if per_channel else np.asarray(130, wt)
    bias = rng.integers(-3000, 3000, 6).astype(np.int32)
    inputs = [x, scale(0.03), np.asarray(7, xt), w, ws, wz, scale(0.9), np.asarray(11, xt), bias]
    check("QLinearConv", inputs, 0.001, **attributes)
    node = make_node("QLinearConv", inputs[:8], **attributes)
    model = make_model(node, inputs[:8], xt)
    if not per_channel:  # onnx's reference has no per-channel weights here
        largest, moved = exact.quanta(
            exact.evaluate(node, inputs[:8]), reference(model, inputs[:8])
        )
        assert largest <= 1 and moved < 0.001


def test_conv_integer_is_exact() -> None:
    rng = np.random.default_rng(2)
    inputs = [
        codes(rng, (1, 3, 6, 6)),
        codes(rng, (5, 3, 3, 3)),
        np.asarray(4, U8),
        np.asarray(9, U8),
    ]
    node = make_node("ConvInteger", inputs, pads=[1, 1, 1, 1])
    assert np.array_equal(
        exact.evaluate(node, inputs), run(make_model(node, inputs, np.int32), inputs)
    )


@pytest.mark.parametrize("wt", [U8, I8], ids=str)
@pytest.mark.parametrize("shape", [(5, 16), (2, 5, 16)], ids=str)
def test_matmuls(wt: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a, b = codes(rng, shape), codes(rng, (16, 7), wt, 64)
    per_column = scale(*rng.uniform(0.01, 0.03, 7))
    zeros = np.full(7, 125 if wt == U8 else 3, wt)
    az, yz, xs = np.asarray(130, U8), np.asarray(120, U8), scale(0.02)
    inputs = [a, xs, az, b, per_column, zeros, scale(1.5), yz]
    check("QLinearMatMul", inputs, 0.001)
    model = make_model(make_node("QLinearMatMul", inputs), inputs, U8)
    ours = exact.evaluate(make_node("QLinearMatMul", inputs), inputs)
    assert exact.quanta(ours, reference(model, inputs))[0] <= 1

    inputs = [a, b, az, np.asarray(3, wt)]
    node = make_node("MatMulInteger", inputs)
    model = make_model(node, inputs, np.int32)
    assert np.array_equal(exact.evaluate(node, inputs), run(model, inputs))
    assert np.array_equal(exact.evaluate(node, inputs), reference(model, inputs))

    inputs = [a, b, xs, per_column, az, zeros, rng.normal(size=7).astype(np.float32)]
    node = make_node("com.microsoft::MatMulIntegerToFloat", inputs)
    got = run(make_model(node, inputs, np.float32), inputs)
    np.testing.assert_allclose(exact.evaluate(node, inputs), got, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("bias", [False, True])
def test_qgemm(transposed: tuple[int, int], bias: bool) -> None:
    rng = np.random.default_rng(4)
    a, b = codes(rng, (6, 12)), codes(rng, (12, 5), I8, 64)
    a, b = (a.T.copy() if transposed[0] else a), (b.T.copy() if transposed[1] else b)
    c = rng.integers(-4000, 4000, 5).astype(np.int32) if bias else None
    zeros = np.zeros(5, I8)
    inputs = [a, scale(0.02), np.asarray(128, U8), b, scale(*rng.uniform(0.01, 0.03, 5)), zeros, c]
    quantized = [*inputs, scale(0.2), np.asarray(101, U8)]
    attributes = {"transA": transposed[0], "transB": transposed[1]}
    check("com.microsoft::QGemm", quantized, 0.001, **attributes)
    node = make_node("com.microsoft::QGemm", inputs, **attributes)
    got = run(make_model(node, inputs, np.float32), inputs)
    np.testing.assert_allclose(exact.evaluate(node, inputs), got, rtol=1e-5, atol=1e-6)


def test_qgemm_alpha_without_bias() -> None:
    rng = np.random.default_rng(5)
    inputs = [codes(rng, (6, 12)), scale(0.02), np.asarray(128, U8), codes(rng, (12, 5), I8, 64)]
    inputs += [scale(0.02), np.asarray(0, I8), None, scale(0.1), np.asarray(101, U8)]
    check("com.microsoft::QGemm", inputs, 0.001, alpha=0.5)


@pytest.mark.parametrize("dtype", [U8, I8], ids=str)
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_binary(op: str, dtype: Any) -> None:
    rng = np.random.default_rng(6)
    a, b = codes(rng, (2, 3, 8, 8), dtype), codes(rng, (3, 1, 8), dtype)
    zero = np.asarray(20, dtype)
    inputs = [
        a,
        scale(0.0313257),
        zero,
        b,
        scale(0.0171234),
        np.asarray(5, dtype),
        scale(0.0497811),
        zero,
    ]
    check(f"com.microsoft::{op}", inputs, 0.001)


@pytest.mark.parametrize("dtype", [U8, I8], ids=str)
def test_tables(dtype: Any) -> None:
    every = np.arange(256).astype(U8).view(dtype).reshape(2, 128)
    zero = np.asarray(10, dtype)
    check("com.microsoft::QLinearSigmoid", [every, scale(0.05), zero, scale(1 / 256), zero], 0.01)
    inputs: list[Array | None] = [every, scale(0.05), zero, scale(0.03), zero]
    check("com.microsoft::QLinearLeakyRelu", inputs, 0, alpha=0.2)
    check("com.microsoft::QLinearLeakyRelu", inputs, 0)


@pytest.mark.parametrize("axis", [0, -1])
def test_concat(axis: int) -> None:
    rng = np.random.default_rng(7)
    x, y = codes(rng, (4, 6)), codes(rng, (4, 6))
    inputs = [scale(0.04), np.asarray(3, U8), x, scale(0.03), np.asarray(7, U8), y, scale(0.05)]
    check("com.microsoft::QLinearConcat", [*inputs, np.asarray(128, U8)], 0, axis=axis)


def test_where() -> None:
    rng = np.random.default_rng(8)
    condition = rng.integers(0, 2, (4, 6)).astype(bool)
    x, y = codes(rng, (4, 6)), codes(rng, (1, 6))
    zero = np.asarray(7, U8)
    inputs = [condition, x, scale(0.03), zero, y, scale(0.05), zero, scale(0.04), zero]
    check("com.microsoft::QLinearWhere", inputs, 0, output=U8)


@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (11, 1)])
def test_softmax(opset: int, axis: int) -> None:
    rng = np.random.default_rng(9)
    x = codes(rng, (3, 4, 16))
    inputs = [x, scale(0.03), np.asarray(128, U8), scale(1 / 256), np.asarray(0, U8)]
    check("com.microsoft::QLinearSoftmax", inputs, 0.01, opset=opset, axis=axis)


POOLS = [
    {},
    {"pads": [1, 0, 1, 1]},
    {"pads": [1, 1, 1, 1], "count_include_pad": 1},
    {"strides": [2, 2], "ceil_mode": 1},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
]


@pytest.mark.parametrize("attributes", POOLS)
@pytest.mark.parametrize("dtype", [U8, I8], ids=str)
def test_average_pool(attributes: dict[str, Any], dtype: Any) -> None:
    rng = np.random.default_rng(10)
    x = codes(rng, (2, 3, 10, 9), dtype)
    inputs = [x, scale(0.0313257), np.asarray(4, dtype), scale(0.0171234), np.asarray(6, dtype)]
    pool = "com.microsoft::QLinearAveragePool"
    check(pool, inputs, 0.001, kernel_shape=[3, 2], **attributes)


@pytest.mark.parametrize("channels_last", [0, 1])
def test_global_average_pool(channels_last: int) -> None:
    rng = np.random.default_rng(11)
    x = codes(rng, (2, 30, 5, 3))
    inputs = [x, scale(0.031), np.asarray(130, U8), scale(0.005), np.asarray(126, U8)]
    pool = "com.microsoft::QLinearGlobalAveragePool"
    check(pool, inputs, 0.001, channels_last=channels_last)


@pytest.mark.parametrize("attributes", [p for p in POOLS if "count_include_pad" not in p])
@pytest.mark.parametrize("dtype", [U8, I8], ids=str)
def test_max_pool(attributes: dict[str, Any], dtype: Any) -> None:
    rng = np.random.default_rng(12)
    inputs = [codes(rng, (2, 3, 10, 9), dtype)]
    node = make_node("MaxPool", inputs, kernel_shape=[3, 2], **attributes)
    model = make_model(node, inputs, dtype)
    expected = exact.evaluate(node, inputs)
    assert np.array_equal(expected, run(model, inputs))


def test_a_wrong_weight_would_be_seen() -> None:
    """The checks above can fail: one weight off by one moves the result by more than a quantum."""
    x, w = np.full((1, 1, 3, 3), 200, U8), np.full((1, 1, 3, 3), 100, U8)
    zero, unit = np.asarray(0, U8), scale(1.0)
    before = exact.qlinear_conv(x, unit, zero, w, unit, zero, scale(900.0), zero)
    w[0, 0, 1, 1] = 80
    after = exact.qlinear_conv(x, unit, zero, w, unit, zero, scale(900.0), zero)
    assert exact.quanta(before, after)[0] > 1
