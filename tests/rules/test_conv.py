"""Conv between DQ and Q, and the float weights and biases that stand in its way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

from .checks import apply, assert_rewritten, operations
from .graphs import MS, Builder, Grid, Product, feeds

FUSED = {"QLinearConv": 1, "Conv": 0, "DequantizeLinear": 0, "QuantizeLinear": 0}
LEFT = {"QLinearConv": 0, "Conv": 1}
CONV = Product()
CHANNELS = Grid("i8", [0.01, 0.02, 0.005, 0.01], [0, 0, 0, 0], axis=0)
U8 = Grid("u8", 0.01, 128)
SCALES = np.array([0.01, 0.02, 0.005, 0.01])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(replace(CONV, opset=10), id="opset10"),
        pytest.param(replace(CONV, opset=13), id="opset13"),
        pytest.param(replace(CONV, opset=21), id="opset21"),
        pytest.param(replace(CONV, opset=23), id="opset23"),
        pytest.param(replace(CONV, bias="i32"), id="bias"),
        pytest.param(replace(CONV, bias="i32", bias_zero_point=0), id="bias_zero_point_0"),
        pytest.param(replace(CONV, w=U8, bias="i32", peak=127), id="u8u8"),
        pytest.param(replace(CONV, peak=127), id="full_range_weights"),
        pytest.param(replace(CONV, w=CHANNELS, bias="i32", peak=127), id="per_channel_full_range"),
        pytest.param(replace(CONV, w=replace(CHANNELS, axis=-4)), id="negative_axis"),
        pytest.param(replace(CONV, w=replace(CHANNELS, zero_point=None)), id="per_channel_no_zp"),
        pytest.param(
            replace(
                CONV,
                x=Grid(zero_point=None),
                w=Grid("u8", 0.01, None),
                y=Grid(scale=1.0, zero_point=None),
                peak=100,
            ),
            id="no_zero_points",
        ),
        pytest.param(
            replace(
                CONV, x=Grid(scale=[0.02], zero_point=[128]), y=Grid(scale=[0.1], zero_point=[9])
            ),
            id="scales_of_one_element",
        ),
        pytest.param(
            replace(
                CONV,
                x_shape=(1, 4, 6, 6),
                w_shape=(4, 1, 3, 3),
                w=CHANNELS,
                attributes=(("group", 4), ("pads", [1, 1, 1, 1]), ("strides", [2, 2])),
            ),
            id="depthwise",
        ),
        pytest.param(
            replace(CONV, x_shape=(2, 3, 9), w_shape=(4, 3, 3), attributes=(("dilations", [2]),)),
            id="1d",
        ),
        pytest.param(replace(CONV, x_shape=(1, 2, 4, 4, 4), w_shape=(4, 2, 2, 2, 2)), id="3d"),
        pytest.param(
            replace(CONV, w=Grid("u8", 0.01, 128), weight="input"), id="weight_not_constant"
        ),
        pytest.param(replace(CONV, attributes=(("auto_pad", "SAME_UPPER"),)), id="auto_pad"),
        pytest.param(replace(CONV, x_shape=("n", 3, "h", "w")), id="dynamic_shape"),
    ],
)
def test_fuses(case: Product) -> None:
    assert_rewritten(case.model(), FUSED, 1, sizes={"n": 2, "h": 7, "w": 5})


def test_fuses_in_the_domain_of_com_microsoft() -> None:
    gone = {f"{MS}::QuantizeLinear": 0, f"{MS}::DequantizeLinear": 0}
    assert_rewritten(replace(CONV, domain=MS, opset=17, bias="i32").model(), FUSED | gone, 1)


def test_weight_with_one_scale_an_output_channel_and_differing_zero_points() -> None:
    w = Grid("u8", SCALES, [128, 120, 130, 127], axis=0)
    assert_rewritten(replace(CONV, w=w, peak=100).model(), {}, 1)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            replace(CONV, x=Grid(scale=[0.02, 0.01, 0.03], zero_point=[1, 2, 3], axis=1)),
            id="x_axis",
        ),
        pytest.param(
            replace(CONV, y=Grid(scale=SCALES, zero_point=[1, 2, 3, 4], axis=1)), id="y_axis"
        ),
        pytest.param(
            replace(CONV, w_shape=(4, 4, 3, 3), x_shape=(1, 4, 6, 6), w=replace(CHANNELS, axis=1)),
            id="weight_axis_1",
        ),
        pytest.param(replace(CONV, bias="i32", bias_scale=1.37), id="bias_scale"),
        pytest.param(
            replace(
                CONV,
                x=Grid(scale=1e-5, zero_point=3),
                w=Grid("i8", 1e-5, 0),
                y=Grid(scale=1e-9),
                bias="i32",
                bias_scale=1.37,
            ),
            id="tiny_bias_scale",
        ),
        pytest.param(
            replace(CONV, bias="i32", bias_codes=(2**31 - 1, -(2**31), 5, 0)), id="sum_leaves_int32"
        ),
        pytest.param(replace(CONV, x=Grid(scale=-0.02, zero_point=3)), id="negative_x_scale"),
        pytest.param(replace(CONV, y=Grid(scale=-0.02, zero_point=3)), id="negative_y_scale"),
        pytest.param(replace(CONV, x=Grid(scale=0.0, zero_point=3)), id="zero_scale"),
        pytest.param(replace(CONV, y=Grid(scale=np.nan, zero_point=3)), id="nan_scale"),
        pytest.param(replace(CONV, y=Grid(scale=np.inf, zero_point=3)), id="infinite_scale"),
        pytest.param(replace(CONV, x=Grid(scale=1e-30), w=Grid("i8", 1e-30, 0)), id="underflow"),
        pytest.param(
            replace(CONV, x=Grid("u16", 0.001, 3), y=Grid("u16", 0.1, 3), opset=21), id="16_bit"
        ),
        pytest.param(replace(CONV, weight="input"), id="saturating_weight_unknown"),
    ],
)
def test_near_misses(case: Product) -> None:
    assert_rewritten(case.model(), LEFT)


@pytest.mark.parametrize("type", ["i4", "u4", "i2", "u2"])
def test_narrow_weights_are_left(type: str) -> None:
    opset = 25 if type in ("i2", "u2") else 21
    b = Builder(opset)
    x, w = Grid(scale=0.02, zero_point=128), Grid(type, 0.1, 0)
    codes = np.array([1, 0, 1, 1] * 27).reshape(4, 3, 3, 3)
    v = b.node(
        "Conv", [b.dq(b.input("x", "u8", (1, 3, 6, 6)), x), b.dq(b.constant(codes, type), w)]
    )
    b.q(v, Grid(scale=0.1), b.output("y", "u8"))
    assert operations(apply(b.model()))["Conv"] == 1


@pytest.mark.parametrize("target", ["x86", "x86-vnni"])
@pytest.mark.parametrize(
    ("x", "w", "y"),
    [("u8", "i8", "i8"), ("i8", "u8", "i8"), ("i8", "i8", "u8"), ("i8", "i8", "i8")],
)
def test_int8_at_the_border_of_the_graph_is_converted_there(
    x: str, w: str, y: str, target: str
) -> None:
    case = replace(CONV, x=Grid(x, 0.02, 3), w=Grid(w, 0.01, 0), y=Grid(y, 0.1, 3), peak=100)
    pairs = (x == "i8") + (y == "i8")
    counts = {"QLinearConv": 1, "Conv": 0, "DequantizeLinear": pairs, "QuantizeLinear": pairs}
    model = case.model()
    if target == "x86":
        assert_rewritten(model, counts, 1, target=target)
    else:  # the machine of the tests may saturate
        assert {op: operations(apply(model, target=target))[op] for op in counts} == counts


def residual(*, skip: bool = True) -> ModelProto:
    """int8 throughout: Q, Conv, Q, Conv, Q, Add with the skip connection, Q."""
    b = Builder()
    rng = np.random.default_rng(3)
    grid, w = Grid("i8", 0.05, 4), Grid("i8", 0.01, 0)
    codes = b.q(b.input("x", "f32", (1, 4, 6, 6)), grid)
    value = codes
    for _ in range(2):
        weight = b.dq(b.constant(rng.integers(-127, 128, (4, 4, 3, 3)), "i8"), w)
        value = b.q(b.node("Conv", [b.dq(value, grid), weight], pads=[1, 1, 1, 1]), grid)
    if skip:
        value = b.q(b.node("Add", [b.dq(codes, grid), b.dq(value, grid)]), grid)
    b.dq(value, grid, b.output("y", "f32"))
    return b.model()


@pytest.mark.parametrize("skip", [False, True])
def test_int8_models_fuse_whole(skip: bool) -> None:
    """onnxruntime leaves a tensor that two ops read in int8, and those ops in float."""
    counts = {
        "QLinearConv": 2,
        "com.microsoft::QLinearAdd": int(skip),
        "DequantizeLinear": 1,
        "QuantizeLinear": 1,
    }
    result = apply(residual(skip=skip))
    found = operations(result)
    assert {op: found[op] for op in counts} == counts
    types = {t.data_type for t in result.graph.initializer}
    assert TensorProto.INT8 not in types


def test_a_bias_with_a_zero_point_moves_to_zero() -> None:
    assert_rewritten(replace(CONV, bias="i32", bias_zero_point=5).model(), FUSED, 1)


def test_a_bias_on_a_finer_grid_that_holds_it_moves() -> None:
    assert_rewritten(replace(CONV, bias="i32", bias_scale=2.0).model(), FUSED, 1)


def shared(float_use: bool, graph_output: bool) -> ModelProto:
    """Two Convs on one DQ, which a float op reads as well or which is a graph output."""
    b = Builder()
    grid, w = Grid(scale=0.02, zero_point=128), Grid("i8", 0.01, 0)
    v = b.dq(b.input("x", "u8", (1, 3, 6, 6)), grid, "v")
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    weight = b.dq(b.constant(codes, "i8"), w)
    for name in ("y0", "y1"):
        b.q(b.node("Conv", [v, weight]), Grid(scale=0.1, zero_point=100), b.output(name, "u8"))
    if float_use:
        b.node("Softsign", [v], b.output("s", "f32"))
    if graph_output:
        b.output(v, "f32")
    return b.model()


@pytest.mark.parametrize(("float_use", "graph_output"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_a_dq_may_be_shared(float_use: bool, graph_output: bool) -> None:
    kept = 1 if float_use or graph_output else 0
    counts = {"QLinearConv": 2, "Conv": 0, "DequantizeLinear": kept, "QuantizeLinear": 0}
    assert_rewritten(shared(float_use, graph_output), counts, 1)


def test_a_float_result_used_elsewhere_blocks() -> None:
    model = CONV.model()
    conv = next(node for node in model.graph.node if node.op_type == "Conv")
    model.graph.output.append(type(model.graph.output[0])(name=conv.output[0]))
    model.graph.output[-1].type.CopyFrom(model.graph.output[0].type)
    model.graph.output[-1].type.tensor_type.elem_type = TensorProto.FLOAT
    assert_rewritten(model, LEFT)


def test_two_quantizers_of_one_result_block() -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (1, 3, 6, 6)), CONV.x)
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    v = b.node("Conv", [v, b.dq(b.constant(codes, "i8"), CONV.w)])
    b.q(v, Grid(scale=0.1), b.output("y0", "u8"))
    b.q(v, Grid(scale=0.2), b.output("y1", "u8"))
    assert_rewritten(b.model(), LEFT)


def test_an_overridable_weight_scale_blocks() -> None:
    model = CONV.model()
    dq = [node for node in model.graph.node if node.op_type == "DequantizeLinear"][1]
    model.graph.input.append(type(model.graph.input[0])(name=dq.input[1]))
    model.graph.input[-1].type.tensor_type.elem_type = TensorProto.FLOAT
    model.graph.input[-1].type.tensor_type.shape.SetInParent()
    assert_rewritten(model, LEFT)


def test_output_type_stated_by_attribute_alone() -> None:
    """onnxruntime fills in a uint8 zero point and cannot load the result."""
    b = Builder(21)
    v = b.dq(b.input("x", "i8", (1, 3, 6, 6)), Grid("i8", 0.02, None))
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    v = b.node("Conv", [v, b.dq(b.constant(codes, "i8"), Grid("i8", 0.01, None))])
    b.q(v, Grid("i8", 0.1, None), b.output("y", "i8"), output_dtype=TensorProto.INT8)
    assert_rewritten(b.model(), {"QLinearConv": 1, "Conv": 0}, 1, target="arm")


@pytest.mark.parametrize("target", ["x86-vnni", "arm"])
def test_targets_that_do_not_saturate_keep_int8_weights(target: str) -> None:
    result = apply(replace(CONV, peak=127).model(), target=target)
    assert operations(result)["QLinearConv"] == 1
    weight = next(node for node in result.graph.node if node.op_type == "QLinearConv").input[3]
    kept = {t.name: t.data_type for t in result.graph.initializer}
    assert kept[weight] == TensorProto.INT8


def test_int8_by_int8_is_for_arm() -> None:
    case = replace(CONV, x=Grid("i8", 0.02, 3), y=Grid("i8", 0.1, 3), bias="i32")
    assert_rewritten(case.model(), FUSED, 1, target="arm")


# ---- weights and biases in float ----------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        replace(CONV, bias="f32"),
        replace(CONV, bias="f32", w=CHANNELS),
        replace(CONV, bias="f32", w=U8, opset=10),
        replace(CONV, bias="f32", domain=MS, opset=17),
    ],
    ids=["per_tensor", "per_channel", "opset10", "com_microsoft"],
)
def test_a_float_bias_is_quantized(case: Product) -> None:
    assert_rewritten(case.model(), FUSED, 1)


def weight_error(case: Product, **options: Any) -> float:
    """The largest deviation of a quantized weight from the float one, in quanta of its channel."""
    model = case.model()
    result = apply(model, **options)
    found = operations(result)
    assert (found["QLinearConv"], found["Conv"]) == (1, 0), dict(found)
    node = next(node for node in result.graph.node if node.op_type == "QLinearConv")
    arrays = {t.name: numpy_helper.to_array(t) for t in result.graph.initializer}
    codes, scale, zero = (arrays[name].astype(np.float64) for name in node.input[3:6])
    original = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}["w"]
    column = (-1, 1, 1, 1) if scale.size > 1 else ()
    scale, zero = scale.reshape(column), zero.reshape(column)
    return float(np.abs((codes - zero) - original / scale).max())


@pytest.mark.parametrize("weights", ["per_channel", "per_tensor", "seven_bit", "asymmetric"])
def test_a_float_weight_is_rounded_by_half_a_quantum_at_most(weights: str) -> None:
    case = replace(CONV, weight="f32", bias="f32")
    assert weight_error(case, weights=weights) <= 0.5 + 1e-4


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(replace(CONV, weight="f32", y=None), id="no_quantizer"),
        pytest.param(replace(CONV, bias="f32", y=None), id="bias_without_quantizer"),
        pytest.param(replace(CONV, weight="f32", y=Grid("i8", 0.1, 0)), id="nothing_would_fuse"),
        pytest.param(
            replace(CONV, weight="f32", x=Grid("u16", 0.001, 0), y=Grid("u16", 0.1, 0), opset=21),
            id="16_bit",
        ),
        pytest.param(
            replace(CONV, bias="f32", bias_codes=(1e12, 0, 0, 0), x=Grid(scale=1e-6)),
            id="bias_overflow",
        ),
        pytest.param(replace(CONV, bias="f32", bias_codes=(np.nan, 0, 0, 0)), id="bias_nan"),
        pytest.param(replace(CONV, bias="f32", bias_codes=(np.inf, 0, 0, 0)), id="bias_infinite"),
        pytest.param(replace(CONV, weight="f32", x=Grid(scale=0.0)), id="zero_scale"),
    ],
)
def test_float_weights_and_biases_that_stay(case: Product) -> None:
    model = case.model()
    assert_rewritten(model, {"Conv": 1, "QLinearConv": 0}, feeds=[feeds(model)])


def test_weights_of_zero_alone() -> None:
    model = replace(CONV, weight="f32").model()
    weight = next(t for t in model.graph.initializer if t.name == "w")
    weight.raw_data = bytes(len(weight.raw_data))
    assert_rewritten(model, FUSED, 1)


def test_a_float_weight_that_may_be_overridden_stays() -> None:
    model = replace(CONV, weight="f32").model()
    model.graph.input.append(type(model.graph.input[0])(name="w"))
    tensor = model.graph.input[-1].type.tensor_type
    tensor.elem_type = TensorProto.FLOAT
    for size in (4, 3, 3, 3):
        tensor.shape.dim.add(dim_value=size)
    assert_rewritten(model, LEFT)
