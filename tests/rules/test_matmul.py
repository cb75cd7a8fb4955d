"""MatMul and Gemm between DQ and Q."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid, Product, feeds

FUSED = {"QLinearMatMul": 1, "MatMul": 0, "DequantizeLinear": 0, "QuantizeLinear": 0}
LEFT = {"QLinearMatMul": 0, "QuantizeLinear": 1}
"""A kernel with a float result may do where the integer one does not."""
QGEMM = {f"{MS}::QGemm": 1, "Gemm": 0, "DequantizeLinear": 0, "QuantizeLinear": 0}
GEMM_LEFT = {"QuantizeLinear": 1}
MATMUL = Product("MatMul", x_shape=(2, 3, 8), w_shape=(8, 5))
GEMM = Product("Gemm", x_shape=(3, 8), w_shape=(8, 5), bias_codes=(30, -500, 700, 0, 9))
SCALES = [0.01, 0.02, 0.005, 0.01, 0.03]
COLUMNS = Grid("i8", SCALES, [0] * 5, axis=1)
TRANSPOSED = replace(GEMM, w_shape=(5, 8), attributes=(("transB", 1),))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(replace(MATMUL, opset=10), id="opset10"),
        pytest.param(replace(MATMUL, opset=21), id="opset21"),
        pytest.param(replace(MATMUL, w=Grid("u8", 0.01, 120), peak=127), id="u8u8"),
        pytest.param(replace(MATMUL, w=Grid("u8", 0.01, None), peak=127), id="no_zero_point"),
        pytest.param(replace(MATMUL, w=COLUMNS), id="per_column"),
        pytest.param(replace(MATMUL, w=replace(COLUMNS, axis=-1)), id="axis_counted_from_the_end"),
        pytest.param(replace(MATMUL, w=replace(COLUMNS, axis=None)), id="default_axis"),
        pytest.param(
            replace(MATMUL, w=replace(COLUMNS, zero_point=None), peak=127), id="full_range"
        ),
        pytest.param(replace(MATMUL, x_shape=(8,)), id="vector"),
        pytest.param(replace(MATMUL, w=Grid("u8", 0.01, 120), weight="input"), id="not_constant"),
        pytest.param(replace(MATMUL, w_shape=(2, 8, 5), x_shape=(2, 3, 8)), id="batched"),
        pytest.param(replace(MATMUL, x_shape=("n", "m", 8)), id="dynamic"),
    ],
)
def test_matmul_fuses(case: Product) -> None:
    assert_rewritten(case.model(), FUSED, 1, sizes={"n": 2, "m": 3})


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            replace(MATMUL, w_shape=(8, 8), w=Grid("i8", [0.01] * 4 + [0.02] * 4, 0, axis=0)),
            id="per_row_b",
        ),
        pytest.param(
            replace(MATMUL, w_shape=(2, 8, 5), w=Grid("i8", SCALES, 0, axis=2)),
            id="batched_per_column",
        ),
        pytest.param(
            replace(MATMUL, x_shape=(3, 8), x=Grid("u8", [0.01, 0.02, 0.03], 0, axis=0)),
            id="per_row_a",
        ),
        pytest.param(
            replace(MATMUL, y=Grid(scale=SCALES, zero_point=0, axis=2)), id="per_column_y"
        ),
        pytest.param(
            replace(
                MATMUL,
                w_shape=(32, 5),
                x_shape=(3, 32),
                opset=21,
                w=Grid("i8", np.full((2, 5), 0.01), 0, axis=0, block_size=16),
            ),
            id="blocked",
        ),
        pytest.param(replace(MATMUL, weight="input"), id="saturating_operand"),
        pytest.param(
            replace(MATMUL, x=Grid("u16", 0.001, 3), y=Grid("u16", 0.1, 3), opset=21), id="16_bit"
        ),
        pytest.param(replace(MATMUL, w=Grid("i8", -0.01, 0)), id="negative_scale"),
    ],
)
def test_matmul_near_misses(case: Product) -> None:
    assert_rewritten(case.model(), LEFT)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(GEMM, id="plain"),
        pytest.param(replace(GEMM, opset=11), id="opset11"),
        pytest.param(replace(GEMM, bias="i32"), id="bias"),
        pytest.param(replace(GEMM, bias="i32", w=COLUMNS), id="per_column"),
        pytest.param(replace(TRANSPOSED, bias="i32", w=replace(COLUMNS, axis=0)), id="transposed"),
        pytest.param(replace(GEMM, x_shape=(8, 3), attributes=(("transA", 1),)), id="transA"),
        pytest.param(replace(GEMM, attributes=(("alpha", 2.0),)), id="alpha_without_bias"),
        pytest.param(replace(GEMM, attributes=(("beta", 2.0),)), id="beta_without_bias"),
        pytest.param(
            replace(GEMM, x=Grid(zero_point=None), w=Grid("u8", 0.01, None)), id="no_zero_points"
        ),
        pytest.param(
            replace(GEMM, w=COLUMNS, peak=127, bias="f32"), id="full_range_and_float_bias"
        ),
        pytest.param(replace(GEMM, bias="f32", domain=MS, opset=17), id="com_microsoft"),
    ],
)
def test_gemm_fuses(case: Product) -> None:
    gone = {f"{MS}::QuantizeLinear": 0, f"{MS}::DequantizeLinear": 0}
    assert_rewritten(case.model(), QGEMM | gone, 1)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(replace(GEMM, bias="i32", attributes=(("beta", 2.0),)), id="beta"),
        pytest.param(replace(GEMM, bias="i32", attributes=(("alpha", 2.0),)), id="alpha"),
        pytest.param(replace(GEMM, bias="i32", bias_scale=1.37), id="bias_scale"),
        pytest.param(
            replace(GEMM, w_shape=(8, 8), w=Grid("i8", [0.01] * 4 + [0.02] * 4, 0, axis=0)),
            id="wrong_axis",
        ),
        pytest.param(
            replace(
                GEMM,
                w_shape=(8, 8),
                attributes=(("transB", 1),),
                w=Grid("i8", [0.01] * 4 + [0.02] * 4, 0, axis=1),
            ),
            id="wrong_axis_transposed",
        ),
        pytest.param(replace(GEMM, x=Grid("u8", [0.01, 0.02, 0.03], 0, axis=0)), id="per_row_a"),
        pytest.param(
            replace(GEMM, bias="f32", attributes=(("alpha", 0.5),)), id="float_bias_alpha"
        ),
    ],
)
def test_gemm_near_misses(case: Product) -> None:
    assert_rewritten(case.model(), GEMM_LEFT)


def test_gemm_bias_with_a_zero_point_moves_to_zero() -> None:
    """onnxruntime drops the zero point and computes a wrong sum."""
    assert_rewritten(replace(GEMM, bias="i32", bias_zero_point=5).model(), QGEMM, 1)


@pytest.mark.parametrize(("transposed", "axis"), [(0, 1), (1, 0)])
def test_float_gemm_weights_become_int8(transposed: int, axis: int) -> None:
    case = replace(
        TRANSPOSED if transposed else GEMM,
        weight="f32",
        bias="f32",
        y=Grid(scale=0.1, zero_point=100),
    )
    model = case.model()
    assert_rewritten(model, QGEMM, 6, feeds=[feeds(model)])


def test_a_bias_that_is_a_column_is_not_one_per_output() -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (5, 8)), Grid(scale=0.02, zero_point=3))
    codes = np.random.default_rng(0).integers(-60, 60, (8, 5))
    w = b.dq(b.constant(codes, "i8"), Grid("i8", SCALES, 0, axis=1))
    c = b.dq(
        b.constant(np.arange(5).reshape(5, 1) * 100, "i32"),
        Grid("i32", np.float32(0.02 * 0.01), None),
    )
    b.q(b.node("Gemm", [v, w, c]), Grid(scale=0.1, zero_point=100), b.output("y", "u8"))
    assert_rewritten(b.model(), GEMM_LEFT)
