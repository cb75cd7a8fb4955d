"""Products of integers in float models and in operator form: sums, scales, weights that saturate.

Kernels of uint8 by int8 saturate on x86 CPUs without VNNI, the reference by onnxruntime among them:
where weights span the whole range, expectations are computed here, in integers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from onnx.reference import ReferenceEvaluator

from .checks import apply, assert_rewritten, assert_valid, operations, run
from .graphs import MS, Builder, Grid, Product, feeds

CONV = Product(y=None)
MATMUL = Product("MatMul", x_shape=(2, 3, 8), w_shape=(8, 5), y=None)
INTEGER = {"DequantizeLinear": 0, "Cast": 1, "Mul": 1}
CHANNELS = Grid("i8", [0.01, 0.02, 0.005, 0.01], 0, axis=0)
COLUMNS = Grid("i8", [0.01, 0.02, 0.005, 0.01, 0.03], [0, 1, 2, 3, 4], axis=1)
U8 = Grid("u8", 0.01, 128)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(MATMUL, id="plain"),
        pytest.param(replace(MATMUL, w=COLUMNS), id="per_column"),
        pytest.param(replace(MATMUL, x_shape=(8,)), id="vector"),
        pytest.param(replace(MATMUL, x=Grid("i8", 0.02, -3)), id="int8"),
        pytest.param(replace(MATMUL, w=U8, weight="input", opset=10), id="not_constant"),
        pytest.param(
            replace(MATMUL, x=Grid(scale=[0.02], zero_point=[3]), w=Grid("i8", [0.01], [5])),
            id="scales_of_one_element",
        ),
    ],
)
def test_matmul(case: Product) -> None:
    result = assert_rewritten(case.model(), INTEGER | {"MatMulInteger": 1}, pack="onnx")
    values = feeds(result)
    expected = run(case.model(), values)["y"]
    (found,) = ReferenceEvaluator(result).run(None, values)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("case", "adds"),
    [
        pytest.param(CONV, 0, id="plain"),
        pytest.param(replace(CONV, w=CHANNELS), 0, id="per_channel"),
        pytest.param(replace(CONV, bias="i32"), 1, id="bias"),
        pytest.param(replace(CONV, bias="i32", w=CHANNELS, opset=13), 1, id="bias_per_channel"),
        pytest.param(replace(CONV, bias="f32"), 1, id="float_bias"),
        pytest.param(replace(CONV, x_shape=(2, 3, 9), w_shape=(4, 3, 3)), 0, id="1d"),
        pytest.param(
            replace(
                CONV,
                x_shape=(1, 4, 6, 6),
                w_shape=(4, 1, 3, 3),
                attributes=(("group", 4), ("pads", [1, 1, 1, 1]), ("strides", [2, 2])),
            ),
            0,
            id="depthwise",
        ),
    ],
)
def test_conv(case: Product, adds: int) -> None:
    counts = INTEGER | {"ConvInteger": 1, "Conv": 0, "Add": adds}
    assert_rewritten(case.model(), counts, pack="onnx")
    assert_rewritten(case.model(), counts, conv_integer=True)
    assert operations(apply(case.model()))["Conv"] == 1, "no gain in onnxruntime"


@pytest.mark.parametrize(
    "case",
    [
        replace(CONV, w=Grid("u8", CHANNELS.scale, [128, 120, 130, 127], axis=0)),
        replace(CONV, bias="i32", bias_scale=1.37),
        replace(CONV, bias="i32", bias_zero_point=3),
        replace(CONV, x=Grid(scale=[0.02, 0.01, 0.03], zero_point=3, axis=1)),
        replace(CONV, bias="i32", bias_codes=(2**31 - 1, -(2**31), 5, 0)),
    ],
    ids=["zero_points", "bias_scale", "bias_zero_point", "x_per_axis", "sum_leaves_int32"],
)
def test_conv_near_misses(case: Product) -> None:
    assert_rewritten(case.model(), {"ConvInteger": 0, "Conv": 1}, pack="onnx")


# ---- weights over the whole range ---------------------------------------------------------------

CODES = np.random.default_rng(4).integers(-128, 128, (32, 5))


def in_operator_form(op: str, weight_zero_point: int | None) -> ModelProto:
    """x: u8 [3, 32], or float for a dynamic product; the weight is `CODES`."""
    b = Builder(13)
    w = b.constant(CODES, "i8", "w")
    z = [] if weight_zero_point is None else [b.constant(weight_zero_point, "i8")]
    xz, scales = b.constant(3, "u8"), [b.constant(0.02, "f32"), b.constant(0.01, "f32")]
    y = [b.constant(2.0, "f32"), b.constant(100, "u8")]
    if op == "DynamicQuantizeMatMul":
        operands = [b.input("x", "f32", (3, 32)), w, scales[1], *z]
    else:
        x = b.input("x", "u8", (3, 32))
        operands = {
            "MatMulInteger": [x, w, xz, *z],
            "MatMulIntegerToFloat": [x, w, *scales, xz, *z],
            "QLinearMatMul": [x, scales[0], xz, w, scales[1], *z, *y],
            "QGemm": [x, scales[0], xz, w, scales[1], *z, "", *y],
        }[op]
    kind = {"MatMulInteger": "i32", "QLinearMatMul": "u8", "QGemm": "u8"}.get(op, "f32")
    domain = "" if op in ("MatMulInteger", "QLinearMatMul") else f"{MS}::"
    b.node(domain + op, operands, b.output("y", kind, (3, 5)))
    return b.model()


def by_integers(op: str, x: NDArray[Any], weight_zero_point: int) -> NDArray[Any]:
    scale = 0.02
    if op == "DynamicQuantizeMatMul":  # as DynamicQuantizeLinear is defined
        low, high = min(x.min(), 0), max(x.max(), 0)
        scale = np.float32((high - low) / 255)
        zero = int(np.rint(-low / scale))
        x = np.clip(np.rint(x / scale) + zero, 0, 255)
    else:
        zero = 3
    total = (x.astype(np.int64) - zero) @ (CODES - weight_zero_point)
    if op == "MatMulInteger":
        return total
    if op in ("QLinearMatMul", "QGemm"):
        return np.clip(np.rint(total * (0.02 * 0.01 / 2.0)) + 100, 0, 255)
    return total * (float(scale) * 0.01)


@pytest.mark.parametrize("zero_point", [None, 0, 7])
@pytest.mark.parametrize(
    "op",
    ["MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm"],
)
def test_operator_form(op: str, zero_point: int | None) -> None:
    if zero_point is None and op in ("QLinearMatMul", "QGemm"):
        zero_point = -5
    model = in_operator_form(op, zero_point)
    result = apply(model)
    assert_valid(result)
    types = {t.name: t.data_type for t in result.graph.initializer}
    weights = [n for n in result.graph.node[0].input if types.get(n) == TensorProto.UINT8]
    assert TensorProto.INT8 not in types.values() and weights
    values = feeds(model)
    found = run(result, values)["y"].astype(np.float64)
    expected = by_integers(op, values["x"], zero_point or 0)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("target", ["x86-vnni", "arm"])
def test_other_targets_keep_int8(target: str) -> None:
    result = apply(in_operator_form("MatMulInteger", 7), target=target)
    assert TensorProto.INT8 in {t.data_type for t in result.graph.initializer}


def test_dynamic_quantization_with_weights_over_the_whole_range() -> None:
    b = Builder(13)
    b.node("DynamicQuantizeLinear", [b.input("x", "f32", (3, 32))], ["a", "s", "z"])
    v = b.node("MatMulInteger", ["a", b.constant(CODES, "i8"), "z"])
    scale = b.node("Mul", ["s", b.constant(0.01, "f32")])
    b.node("Mul", [b.node("Cast", [v], to=TensorProto.FLOAT), scale], b.output("y", "f32"))
    model = b.model()
    result = apply(model)
    assert operations(result) == {f"{MS}::DynamicQuantizeMatMul": 1}
    values = feeds(model)
    expected = by_integers("DynamicQuantizeMatMul", values["x"], 0)
    found = run(result, values)["y"]
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
