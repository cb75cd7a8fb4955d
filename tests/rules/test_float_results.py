"""Integer MatMul and Gemm whose result stays float."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from .checks import apply, assert_rewritten, operations
from .graphs import MS, Builder, Grid, Product

TO_FLOAT = {f"{MS}::MatMulIntegerToFloat": 1, "MatMul": 0, "DequantizeLinear": 0}
MATMUL = Product("MatMul", x_shape=(2, 3, 8), w_shape=(8, 5), y=None)
GEMM = Product("Gemm", x_shape=(3, 8), w_shape=(8, 5), y=None, bias_codes=(30, -500, 700, 0, 9))
SCALES = [0.01, 0.02, 0.005, 0.01, 0.03]


@pytest.mark.parametrize(
    "case",
    [
        MATMUL,
        replace(MATMUL, opset=13),
        replace(MATMUL, w=Grid("i8", SCALES, 0, axis=1), peak=127),
        replace(MATMUL, w=Grid("u8", 0.01, None), x=Grid(scale=0.02, zero_point=None)),
        replace(MATMUL, w_shape=(2, 8, 5)),
    ],
)
def test_matmul(case: Product) -> None:
    assert_rewritten(case.model(), TO_FLOAT)


@pytest.mark.parametrize(
    "case",
    [
        replace(MATMUL, w_shape=(8, 8), w=Grid("i8", [0.01] * 4 + [0.02] * 4, 0, axis=0)),
        replace(MATMUL, x_shape=(3, 8), x=Grid("u8", [0.01, 0.02, 0.03], 0, axis=0)),
        replace(MATMUL, w_shape=(2, 8, 5), w=Grid("i8", SCALES, 0, axis=2)),
    ],
    ids=["per_row_b", "per_row_a", "batched_per_column"],
)
def test_matmul_scales_the_kernel_does_not_know(case: Product) -> None:
    assert_rewritten(case.model(), {f"{MS}::MatMulIntegerToFloat": 0})


@pytest.mark.parametrize(
    ("shape", "fused"),
    [((5,), True), ((1, 5), False), ((1, 1, 5), False), ((3, 5), False), ((1,), False)],
)
def test_matmul_and_bias(shape: tuple[int, ...], fused: bool) -> None:
    """onnxruntime takes a bias of more dimensions than the product, and changes its shape."""
    b = Builder()
    v = b.dq(b.input("x", "u8", (3, 8)), Grid(scale=0.02, zero_point=3))
    codes = np.random.default_rng(0).integers(-60, 60, (8, 5))
    v = b.node("MatMul", [v, b.dq(b.constant(codes, "i8"), Grid("i8", 0.01, 0))])
    bias = np.arange(np.prod(shape)).reshape(shape) * 0.3
    b.node("Add", [b.constant(bias, "f32"), v], b.output("y", "f32"))
    assert_rewritten(b.model(), TO_FLOAT | {"Add": 0 if fused else 1})


@pytest.mark.parametrize(
    "case",
    [
        GEMM,
        replace(GEMM, bias="i32"),
        replace(GEMM, bias="i32", w=Grid("i8", SCALES, 0, axis=1), peak=127),
        replace(GEMM, attributes=(("alpha", 0.5), ("beta", 2.0))),
    ],
)
def test_gemm(case: Product) -> None:
    assert_rewritten(case.model(), {f"{MS}::QGemm": 1, "Gemm": 0, "DequantizeLinear": 0})


@pytest.mark.parametrize(
    "case",
    [
        replace(GEMM, bias="i32", attributes=(("alpha", 0.5),)),
        replace(GEMM, bias="i32", bias_scale=1.37),
        replace(GEMM, bias="i32", bias_zero_point=3),
    ],
)
def test_gemm_near_misses(case: Product) -> None:
    """The bias of another grid is added behind the kernel, or nothing fuses."""
    model = case.model()
    fused = operations(apply(model))[f"{MS}::QGemm"]
    assert_rewritten(model, {"Gemm": 1 - fused, "Add": fused})


def dynamic(products: int, swapped: bool = False, weight_zero_point: bool = True) -> ModelProto:
    b = Builder(13)
    names = ["a", "s", "z"]
    b.node("DynamicQuantizeLinear", [b.input("x", "f32", (3, 8))], names)
    for i in range(products):
        codes = np.random.default_rng(i).integers(-60, 60, (8, 5))
        operands = ["a", b.constant(codes, "i8"), "z"]
        if weight_zero_point:
            operands.append(b.constant(3, "i8"))
        v = b.node("Cast", [b.node("MatMulInteger", operands)], to=TensorProto.FLOAT)
        scales = ["s", b.constant(0.01, "f32")]
        scale = b.node("Mul", scales[::-1] if swapped else scales)
        b.node("Mul", [v, scale], b.output(f"y{i}", "f32"))
    return b.model()


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("weight_zero_point", [False, True])
def test_dynamic_quantization(swapped: bool, weight_zero_point: bool) -> None:
    counts = {f"{MS}::DynamicQuantizeMatMul": 1, "DynamicQuantizeLinear": 0, "Cast": 0, "Mul": 0}
    assert_rewritten(dynamic(1, swapped, weight_zero_point), counts)


def test_one_dynamic_quantization_for_two_products() -> None:
    counts = {f"{MS}::MatMulIntegerToFloat": 2, "DynamicQuantizeLinear": 1, "Cast": 0}
    assert_rewritten(dynamic(2), counts)
