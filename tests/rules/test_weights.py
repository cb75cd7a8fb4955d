"""Float weights and biases: where they stand, how they are rounded, and by how much."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, helper, numpy_helper

import qrewrite

from .checks import apply, assert_close, assert_rewritten, assert_valid, operations, run
from .graphs import MS, Builder, Grid, Product, feeds

KERNELS = {"Conv": "QLinearConv", "MatMul": "QLinearMatMul", "Gemm": f"{MS}::QGemm"}
GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
CONV = Product()
MATMUL = Product("MatMul", x_shape=(3, 8), w_shape=(8, 5))
GEMM = Product("Gemm", x_shape=(3, 8), w_shape=(8, 5), bias_codes=(30, -500, 700, 0, 9))
CASES = {case.op: replace(case, weight="f32") for case in (CONV, MATMUL, GEMM)}
MODES = ["per_channel", "per_tensor", "seven_bit", "asymmetric"]


def deviation(model: ModelProto, result: ModelProto, name: str = "w") -> float:
    """How far the codes of the rewritten weight are from the float one, in its quanta."""
    original = next(t for t in model.graph.initializer if t.name == name)
    values = numpy_helper.to_array(original).astype(np.float64)
    arrays = {t.name: numpy_helper.to_array(t) for t in result.graph.initializer}
    found = []
    for node in result.graph.node:
        at = {"DequantizeLinear": 0, "QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3}
        place = at.get(node.op_type)
        if place is None or node.input[place] not in arrays:
            continue
        codes, scale, zero = (arrays[each] for each in node.input[place : place + 3])
        if codes.shape == values.shape:
            axis = values.shape.index(scale.size) if scale.size > 1 else 0
            shape = [-1 if i == axis else 1 for i in range(values.ndim)] if scale.size > 1 else []
            scale, zero = scale.astype(np.float64).reshape(shape), zero.reshape(shape)
            found.append(np.abs(codes.astype(np.float64) - zero - values / scale).max())
    assert found, "no such weight"
    return float(max(found))


@pytest.mark.parametrize("op", CASES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opset", [11, 13, 21])
def test_weights_are_rounded_by_half_a_quantum(op: str, mode: str, opset: int) -> None:
    model = replace(CASES[op], opset=opset).model()
    result = apply(model, weights=mode)
    assert_valid(result)
    assert operations(result) == {KERNELS[op]: 1}
    assert deviation(model, result) <= 0.5 + 1e-4


@pytest.mark.parametrize("op", ["Conv", "Gemm"])
@pytest.mark.parametrize("w", [Grid("i8", 0.01, 0), Grid("u8", 0.003, 128)])
def test_biases_are_rounded_by_half_a_quantum(op: str, w: Grid) -> None:
    case = replace(CASES[op], weight="codes", w=w, bias="f32")
    model = case.model()
    result = apply(model)
    node = next(node for node in result.graph.node if node.op_type in ("QLinearConv", "QGemm"))
    arrays = {t.name: numpy_helper.to_array(t) for t in result.graph.initializer}
    codes = arrays[node.input[8 if op == "Conv" else 6]]
    values = next(numpy_helper.to_array(t) for t in model.graph.initializer if t.name == "b")
    step = np.float64(np.float32(case.x.scale)) * np.float64(np.float32(w.scale))
    assert np.abs(codes - values.astype(np.float64) / step).max() <= 0.5 + 1e-4


# ---- what stands between the op and its quantizer -----------------------------------------------


@pytest.mark.parametrize("op", CASES)
@pytest.mark.parametrize("weight", ["f32", "codes"])
@pytest.mark.parametrize(
    ("between", "zero_point"),
    [("Relu", 0), ("Relu", 100), ("Clip", 0)],
    ids=["redundant_relu", "acting_relu", "redundant_clip"],
)
def test_relu_and_clip_do_not_block(op: str, weight: str, between: str, zero_point: int) -> None:
    case = replace(CASES[op], weight=weight, y=Grid(scale=0.1, zero_point=zero_point))
    attributes: dict[str, Any] = {} if between == "Relu" else {"min": 0.0, "max": 30.0}
    case = replace(case, between=((between, attributes),), opset=10 if attributes else 19)
    if op != "MatMul":
        case = replace(case, bias="f32")
    model = case.model()
    fused = GONE | {KERNELS[op]: 1, between: 0, "Max": 1 if zero_point else 0}
    assert_rewritten(model, fused, 8 if weight == "f32" else 1)


# ---- where a weight stands ----------------------------------------------------------------------


def product(op: str, b: Builder, x: str, weight: str, y: str) -> None:
    """One op on DQ(x) and a float weight, before a Q that makes the graph output `y`."""
    v = b.node(op, [b.dq(x, CONV.x), weight])
    b.q(v, Grid(scale=0.1, zero_point=120), b.output(y, "u8"))


def floats(shape: tuple[int, ...]) -> NDArray[np.float32]:
    return np.random.default_rng(5).normal(0, 0.3, shape).astype(np.float32)


@pytest.mark.parametrize("op", CASES)
def test_a_weight_of_two_ops(op: str) -> None:
    case, b = CASES[op], Builder()
    w = b.constant(floats(case.w_shape), "f32", "w")
    for i in range(2):
        product(op, b, b.input(f"x{i}", "u8", case.x_shape), w, f"y{i}")
    result = assert_rewritten(b.model(), GONE | {KERNELS[op]: 2}, 8)
    nodes = [n for n in result.graph.node if n.op_type == KERNELS[op].split("::")[-1]]
    assert nodes[0].input[3:6] == nodes[1].input[3:6], "codes are stored once"


@pytest.mark.parametrize("op", CASES)
def test_a_weight_that_a_float_op_reads_too(op: str) -> None:
    case, b = CASES[op], Builder()
    w = b.constant(floats(case.w_shape), "f32", "w")
    product(op, b, b.input("x", "u8", case.x_shape), w, "y")
    b.node("Abs", [w], b.output("z", "f32"))
    result = assert_rewritten(b.model(), GONE | {KERNELS[op]: 1}, 8)
    assert "w" in {t.name for t in result.graph.initializer}


@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
@pytest.mark.parametrize("perm", [None, [1, 0]])
def test_a_transposed_weight(op: str, perm: list[int] | None) -> None:
    case, b = CASES[op], Builder()
    w = b.node("Transpose", [b.constant(floats(case.w_shape).T, "f32", "w")], perm=perm)
    product(op, b, b.input("x", "u8", case.x_shape), w, "y")
    assert_rewritten(b.model(), GONE | {KERNELS[op]: 1, "Transpose": 0}, 8)


@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
@pytest.mark.parametrize(
    "grid",
    [Grid("i8", 0.01, 3), Grid("i8", [0.01, 0.02, 0.005, 0.01, 0.03], 0, axis=0)],
    ids=["one_scale", "one_a_column"],
)
def test_a_transpose_behind_the_dequantizer_of_a_weight(op: str, grid: Grid) -> None:
    """As Brevitas writes it."""
    case, b = CASES[op], Builder()
    codes = np.random.default_rng(2).integers(-60, 60, case.w_shape).T
    w = b.node("Transpose", [b.dq(b.constant(codes, "i8"), grid)], perm=[1, 0])
    product(op, b, b.input("x", "u8", case.x_shape), w, "y")
    assert_rewritten(b.model(), GONE | {KERNELS[op]: 1, "Transpose": 0}, 1)


@pytest.mark.parametrize("op", CASES)
def test_a_weight_from_a_constant_node(op: str) -> None:
    case, b = CASES[op], Builder()
    value = numpy_helper.from_array(floats(case.w_shape), "value")
    w = b.node("Constant", [], value=value)
    product(op, b, b.input("x", "u8", case.x_shape), w, "y")
    assert_rewritten(b.model(), GONE | {KERNELS[op]: 1, "Constant": 0}, 8)


@pytest.mark.parametrize("op", CASES)
def test_a_weight_that_is_quantized_and_dequantized(op: str) -> None:
    """DQ(Q(constant)): the codes of its own quantizer are taken, not new ones."""
    case, b = CASES[op], Builder()
    grid = Grid("i8", 0.004, 0)
    w = b.dq(b.q(b.constant(floats(case.w_shape), "f32", "w"), grid), grid)
    product(op, b, b.input("x", "u8", case.x_shape), w, "y")
    assert_rewritten(b.model(), GONE | {KERNELS[op]: 1}, 1)


@pytest.mark.parametrize("op", CASES)
def test_a_weight_in_external_data(op: str, tmp_path: Path) -> None:
    model = CASES[op].model()
    path, fused = tmp_path / "model.onnx", tmp_path / "fused.onnx"
    apart = ModelProto.FromString(model.SerializeToString())
    onnx.save(apart, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    qrewrite.rewrite(path, "ort-cpu").save(fused)
    values = feeds(model)
    assert_close(run(apply(model), values), run(onnx.load(fused), values))
    assert operations(onnx.load(fused)) == {KERNELS[op]: 1}


def test_a_constant_row_added_to_a_matmul_is_its_bias() -> None:
    case, b = CASES["MatMul"], Builder()
    v = b.dq(b.input("x", "u8", case.x_shape), CONV.x)
    v = b.node("MatMul", [v, b.constant(floats(case.w_shape), "f32", "w")])
    v = b.node("Add", [b.constant(np.arange(5) * 0.3, "f32"), v])
    b.q(v, Grid(scale=0.1, zero_point=120), b.output("y", "u8"))
    assert_rewritten(b.model(), GONE | {f"{MS}::QGemm": 1, "Add": 0}, 8)


# ---- only by option -----------------------------------------------------------------------------

TRANSPOSED = Product(
    "ConvTranspose", w_shape=(3, 4, 3, 3), weight="f32", bias="f32", y=Grid(scale=0.1)
)
NOT_FUSED = {
    "ConvTranspose": TRANSPOSED,
    "ConvTranspose with groups": replace(
        TRANSPOSED,
        x_shape=(1, 4, 5, 5),
        w_shape=(4, 2, 3, 3),
        attributes=(("group", 2),),
    ),
    "ConvTranspose to float": replace(TRANSPOSED, y=None),
    "Conv to float": replace(CASES["Conv"], bias="f32", y=None),
    "Conv of 16 bits": replace(
        CASES["Conv"], bias="f32", x=Grid("u16", 1e-3, 3), y=Grid("u16", 1e-3, 3), opset=21
    ),
    "Gemm with alpha": replace(CASES["Gemm"], bias="f32", attributes=(("alpha", 0.5),)),
}


@pytest.mark.parametrize("name", NOT_FUSED)
def test_weights_that_no_kernel_takes_stay(name: str) -> None:
    model = NOT_FUSED[name].model()
    assert_rewritten(model, {"DequantizeLinear": 1, NOT_FUSED[name].op: 1})


@pytest.mark.parametrize("name", NOT_FUSED)
@pytest.mark.parametrize("mode", MODES)
def test_weights_that_no_kernel_takes_are_quantized_by_option(name: str, mode: str) -> None:
    model = NOT_FUSED[name].model()
    result = apply(model, quantize_anyway=True, weights=mode)
    assert_valid(result)
    counts = operations(result)
    assert counts["DequantizeLinear"] == 3 and counts[NOT_FUSED[name].op] == 1
    assert deviation(model, result) <= 0.5 + 1e-4
    run(result, feeds(model))


def test_a_matmul_to_float_then_fuses() -> None:
    case = replace(CASES["MatMul"], y=None)
    model = case.model()
    assert operations(apply(model))["MatMul"] == 1
    result = apply(model, quantize_anyway=True)
    assert operations(result) == {f"{MS}::MatMulIntegerToFloat": 1}
    assert helper.make_opsetid(MS, 1) in result.opset_import
