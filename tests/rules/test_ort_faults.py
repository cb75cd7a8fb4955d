"""Models that onnxruntime's optimizer makes wrong, invalid or unloadable: ours are right.

Each model passes the checker after the rewrite, loads, and equals the unfused reference within the
claim of the rule; where an integer kernel can compute it, it is fused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from .checks import apply, assert_rewritten, assert_valid, operations, run
from .graphs import MS, Builder, Grid, Product, feeds
from .islands import ISLANDS, MOVEMENT, assert_island, island

CONV = Product()
GEMM = Product("Gemm", x_shape=(3, 8), w_shape=(8, 5), bias_codes=(30, -500, 700, 0, 9))


@pytest.mark.parametrize("name", ISLANDS)
@pytest.mark.parametrize("type", ["i2", "u2", "i4", "u4"])
def test_narrow_types_have_no_kernels(name: str, type: str) -> None:
    """2-bit codes pass all of its type screens, 4-bit ones those of MaxPool and reductions."""
    grid = Grid(type, 0.5, 1)
    model = island(name, grid, grid)
    if name.split()[0] in ("MatMul", "Gemm"):  # the weight alone
        kept = operations(model)["DequantizeLinear"] - 1
        assert_rewritten(model, {f"{MS}::MatMulNBits": 1, "DequantizeLinear": kept}, feeds=[])
        values = feeds(model)
        expected, found = run(model, values)["y"], run(apply(model), values)["y"]
        np.testing.assert_allclose(expected, found, atol=1e-5)
    else:
        assert_island(name, model, 0.5, fused=False)


@pytest.mark.parametrize("name", ISLANDS)
@pytest.mark.parametrize("type", ["i8", "u8"])
@pytest.mark.parametrize("opset", [21, 25])
def test_an_output_type_stated_by_attribute_alone(name: str, type: str, opset: int) -> None:
    """It fills in a uint8 zero point whatever `output_dtype` says, and no session can be made."""
    grid = Grid(type, 0.25, None)
    assert_island(name, island(name, grid, grid, opset, stated=True), 0.25, fused=True)


@pytest.mark.parametrize("name", ISLANDS)
@pytest.mark.parametrize("type", ["i8", "u8"])
def test_scales_of_one_element(name: str, type: str) -> None:
    """Pools do not load with them, sums and products stay unfused."""
    grid = Grid(type, [0.25], [3])
    assert_island(name, island(name, grid, grid), 0.25, fused=True)


@pytest.mark.parametrize("name", ISLANDS)
@pytest.mark.parametrize("type", ["i8", "u8"])
def test_negative_scales(name: str, type: str) -> None:
    """ArgMax finds another index, and some kernels refuse at run time: only movement is safe."""
    grid = Grid(type, -0.25, 3)
    assert_island(name, island(name, grid, grid), 0.25, fused=name in MOVEMENT)


PER_CHANNEL = sorted(
    name
    for name, case in ISLANDS.items()
    if case.shape[1] == 4
    and name not in MOVEMENT - {"Transpose", "Slice", "Split", "Squeeze", "Where"}
)


@pytest.mark.parametrize("name", PER_CHANNEL)
def test_one_scale_a_channel_of_x(name: str) -> None:
    """Table ops throw, pools use the first scale alone or do not load, Conv fails at run time."""
    x = Grid("u8", [0.25, 0.5, 0.25, 0.125], 3, axis=1)
    assert_island(name, island(name, x, Grid("u8", 0.25, 3)), 0.25, fused=False)


@pytest.mark.parametrize("name", ["Conv", "Sigmoid", "LeakyRelu", "AveragePool", "Add"])
def test_one_scale_a_channel_of_y(name: str) -> None:
    y = Grid("u8", [0.25, 0.5, 0.25, 0.125], 3, axis=1)
    assert_island(name, island(name, Grid("u8", 0.25, 3), y), 0.25, fused=False)


# ---- weights and biases -------------------------------------------------------------------------


def half_precision(bias: float) -> ModelProto:
    """A Conv of which all floats are fp16; bias / (x.scale * w.scale) leaves that type's range."""
    b = Builder(21, scale_type="f16")
    v = b.dq(b.input("x", "u8", (1, 3, 6, 6)), Grid(scale=0.02, zero_point=128))
    codes = np.random.default_rng(0).integers(-60, 61, (4, 3, 3, 3))
    w = b.dq(b.constant(codes, "i8"), Grid("i8", 0.005, 0))
    c = b.constant([bias, -bias, 0.5, 0], "f16")
    b.q(b.node("Conv", [v, w, c]), Grid(scale=0.1, zero_point=120), b.output("y", "u8"))
    return b.model()


@pytest.mark.parametrize("bias", [2.0, 10.0])
def test_a_bias_of_half_precision(bias: float) -> None:
    """It computes in fp16, where 10 becomes infinite and then INT32_MIN."""
    assert_rewritten(half_precision(bias), {}, 1)


def seen_outside(case: Product) -> ModelProto:
    """The float result is a graph output beside its quantizer."""
    model = case.model()
    result = next(node for node in model.graph.node if node.op_type == case.op)
    output = model.graph.output.add(name=result.output[0])
    output.CopyFrom(model.graph.output[0])
    output.name = result.output[0]
    output.type.tensor_type.elem_type = TensorProto.FLOAT
    return model


WEIGHT = replace(CONV, weight="f32", bias="f32")
GEMM_WEIGHT = replace(GEMM, weight="f32", bias="f32")
HUGE = (1e12, -1e12, 0, 0)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(seen_outside(WEIGHT), id="conv_seen_outside"),
        pytest.param(seen_outside(GEMM_WEIGHT), id="gemm_seen_outside"),
        pytest.param(replace(CONV, bias="f32", bias_codes=HUGE).model(), id="overflow"),
        pytest.param(replace(GEMM, bias="f32", bias_codes=(*HUGE, 0)).model(), id="gemm_overflow"),
        pytest.param(replace(WEIGHT, x=Grid(scale=0.0)).model(), id="zero_scale"),
        pytest.param(replace(CONV, bias="f32", x=Grid(scale=1e-30)).model(), id="tiny_scale"),
        pytest.param(
            replace(WEIGHT, x=Grid("u16", 0.001, 3), y=Grid("u16", 0.1, 3), opset=21).model(),
            id="16_bit",
        ),
        pytest.param(replace(GEMM_WEIGHT, attributes=(("alpha", 0.5),)).model(), id="gemm_alpha"),
        pytest.param(replace(GEMM_WEIGHT, attributes=(("beta", 2.0),)).model(), id="gemm_beta"),
    ],
)
def test_float_weights_and_biases_that_must_stay(model: ModelProto) -> None:
    """It rounds them although nothing fuses then, or lets a bias turn its sign."""
    assert_rewritten(model, {"QLinearConv": 0, f"{MS}::QGemm": 0})


@pytest.mark.parametrize("case", [WEIGHT, GEMM_WEIGHT], ids=["Conv", "Gemm"])
def test_float_weights_at_opset_10(case: Product) -> None:
    """It emits Round, which opset 10 does not have."""
    result = apply(replace(case, opset=10).model())
    assert_valid(result)
    found = operations(result)
    assert found[case.op] == 0 and found["DequantizeLinear"] == found["QuantizeLinear"] == 0
    run(result, feeds(result))


@pytest.mark.parametrize(
    ("shape", "weight"), [((1, 1, 5), (8, 5)), ((3, 5), (8, 5)), ((5,), (8, 1)), ((1,), (8, 5))]
)
def test_a_bias_that_widens_an_integer_product(
    shape: tuple[int, ...], weight: tuple[int, int]
) -> None:
    """It takes any bias for a row: the result loses a dimension, or fails at run time."""
    b = Builder(13)
    b.node("DynamicQuantizeLinear", [b.input("x", "f32", (3, 8))], ["a", "s", "z"])
    codes = np.random.default_rng(1).integers(-60, 60, weight)
    product = b.node("MatMulInteger", ["a", b.constant(codes, "i8"), "z"])
    scale = b.node("Mul", ["s", b.constant(0.01, "f32")])
    v = b.node("Mul", [b.node("Cast", [product], to=TensorProto.FLOAT), scale])
    bias = np.arange(np.prod(shape)).reshape(shape) * 0.3
    b.node("Add", [v, b.constant(bias, "f32")], b.output("y", "f32"))
    assert_rewritten(b.model(), {"Add": 1, f"{MS}::DynamicQuantizeMatMul": 1})


# ---- propagation, pairs, Relu and Clip ----------------------------------------------------------

CARRIED: Mapping[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "MaxPool": ((), {"kernel_shape": [2, 2]}),
    "Reshape": ((([4, 16], "i64"),), {}),
    "Transpose": ((), {}),
    "Squeeze": ((([0], "i64"),), {}),
    "Unsqueeze": ((([0], "i64"),), {}),
    "Slice": ((([1], "i64"), ([3], "i64"), ([2], "i64")), {}),
}


@pytest.mark.parametrize("op", CARRIED)
@pytest.mark.parametrize("type", ["i8", "i32"])
@pytest.mark.parametrize("opset", [13, 19, 21])
def test_codes_without_zero_point_before_movement(op: str, type: str, opset: int) -> None:
    """Its new quantizers make uint8 of int8 and of int32."""
    b = Builder(opset)
    v = b.dq(b.input("x", type, (1, 4, 4, 4)), Grid(type, 0.05, None))
    constants, attributes = CARRIED[op]
    v = b.node(op, [v, *(b.constant(*each) for each in constants)], **attributes)
    b.node("Softsign", [v], b.output("y", "f32"))
    values = {"x": np.arange(-32, 32).reshape(1, 4, 4, 4).astype(f"int{type[1:]}")}
    assert_rewritten(b.model(), {"DequantizeLinear": 1}, feeds=[values])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Grid(scale=0.1, zero_point=0), Grid(scale=0.02, zero_point=0)),
        (Grid(scale=0.02, zero_point=0), Grid(scale=0.1, zero_point=0)),
        (Grid(scale=0.05, zero_point=100), Grid(scale=0.05, zero_point=110)),
        (Grid(scale=0.05, zero_point=0), Grid(scale=0.05, zero_point=255)),
    ],
    ids=["coarse_fine", "fine_coarse", "zero_points", "touching_at_zero"],
)
def test_two_quantizers_in_a_row(first: Grid, second: Grid) -> None:
    """It drops the rounding of the first."""
    b = Builder()
    v = b.dq(b.q(b.input("x", "f32", (513,)), first), first)
    b.dq(b.q(v, second), second, b.output("y", "f32"))
    values = {"x": np.linspace(-15, 15, 513, dtype=np.float32)}
    assert_rewritten(b.model(), {"QuantizeLinear": 2}, feeds=[values], requantize=False)
    assert_rewritten(b.model(), {}, feeds=[values])


@pytest.mark.parametrize("op", ["Relu", "Clip"])
@pytest.mark.parametrize(
    "y",
    [
        Grid("i4", 0.5, 3),
        Grid("u4", 0.5, 3),
        Grid("i2", 0.5, 0),
        Grid("u2", 0.5, 1),
        Grid("u8", -0.5, 0),
        Grid("i8", -0.5, -128),
    ],
    ids=["i4", "u4", "i2", "u2", "u8_negative", "i8_negative"],
)
def test_what_clamps_before_a_quantizer(op: str, y: Grid) -> None:
    """It takes it for redundant, or throws."""
    b = Builder(25)
    bounds = [b.constant(bound, "f32") for bound in ([0.0, 6.0] if op == "Clip" else [])]
    v = b.node(op, [b.input("x", "f32", (513,)), *bounds])
    b.dq(b.q(v, y), y, b.output("y", "f32"))
    model, values = b.model(), {"x": np.linspace(-40, 40, 513, dtype=np.float32)}
    result = assert_rewritten(model, {op: 1}, feeds=[])
    np.testing.assert_array_equal(run(model, values)["y"], run(result, values)["y"])
