"""Relu, Clip and DQ-Q pairs that have no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid, Product

CONV = Product()


def quantized(
    op: str, y: Grid, bounds: tuple[float | None, ...] = (), opset: int = 19, **attributes: Any
) -> ModelProto:
    """Float x -> op -> Q -> y."""
    b = Builder(opset)
    operands = [b.input("x", "f32", (513,))]
    operands += ["" if bound is None else b.constant(bound, "f32") for bound in bounds]
    b.q(b.node(op, operands, **attributes), y, b.output("y", y.type))
    return b.model()


VALUES = [
    {"x": np.linspace(-40, 40, 513, dtype=np.float32)},
    {"x": np.linspace(-1e6, 1e6, 513, dtype=np.float32)},
]
U8, I8 = Grid(scale=0.1, zero_point=0), Grid("i8", 0.1, -128)


@pytest.mark.parametrize(
    "y",
    [
        U8,
        I8,
        Grid(scale=0.1, zero_point=None),
        Grid(scale=[0.1], zero_point=[0]),
        Grid("u16", 0.001, 0),
        Grid("i16", 0.001, -32768),
    ],
)
def test_relu_goes(y: Grid) -> None:
    opset = 21 if y.type in ("u16", "i16") else 13
    assert_rewritten(
        quantized("Relu", y, opset=opset), {"Relu": 0, "QuantizeLinear": 1}, feeds=VALUES
    )


@pytest.mark.parametrize(
    "y",
    [
        Grid(scale=0.1, zero_point=1),
        Grid("i8", 0.1, 0),
        Grid(scale=-0.1, zero_point=0),
        Grid(scale=0.0),
        Grid("i8", 0.1, None),
        Grid(scale=np.full(513, 0.1), zero_point=0, axis=0),
    ],
    ids=["zero_point", "i8", "negative_scale", "zero_scale", "no_zero_point", "per_axis"],
)
def test_relu_stays(y: Grid) -> None:
    kept = 0 if y.type == "i8" and y.zero_point is None else 1
    # a quantizer without a zero point makes uint8, whatever the test calls it
    model = quantized("Relu", replace(y, type="u8") if not kept else y)
    assert_rewritten(model, {"Relu": kept}, feeds=VALUES)


@pytest.mark.parametrize("type", ["u4", "i4"])
def test_relu_before_4_bits(type: str) -> None:
    """onnxruntime removes it at any zero point."""
    model = quantized("Relu", Grid(type, 0.5, 3), opset=21)
    assert_rewritten(model, {"Relu": 1}, feeds=[])


@pytest.mark.parametrize(
    ("y", "bounds"),
    [
        (U8, (0.0, 25.5)),
        (U8, (-1.0, 1e9)),
        (U8, (0.0, None)),
        (U8, (None, 25.5)),
        (U8, (0.0, 25.451)),
        (Grid(scale=0.1, zero_point=128), (-12.8, 12.7)),
        (I8, (0.0, 25.5)),
        (Grid(scale=[0.1], zero_point=[0]), (0.0, 30.0)),
        (Grid(scale=0.1, zero_point=None), (0.0, 30.0)),
    ],
)
def test_clip_goes(y: Grid, bounds: tuple[float | None, ...]) -> None:
    assert_rewritten(quantized("Clip", y, bounds), {"Clip": 0, "QuantizeLinear": 1}, feeds=VALUES)


@pytest.mark.parametrize(
    ("y", "bounds"),
    [
        (U8, (0.0, 6.0)),
        (U8, (0.2, 30.0)),
        (Grid(scale=0.1, zero_point=128), (0.0, 30.0)),
        (Grid(scale=-0.1, zero_point=0), (0.0, 30.0)),
        (U8, (0.0, np.nan)),
        (U8, (30.0, 0.0)),
    ],
)
def test_clip_stays(y: Grid, bounds: tuple[float | None, ...]) -> None:
    assert_rewritten(
        quantized("Clip", y, bounds), {"Clip": 1}, feeds=[] if np.nan in bounds else VALUES
    )


@pytest.mark.parametrize(("low", "high", "kept"), [(0.0, 30.0, 0), (0.0, 6.0, 1)])
def test_clip_by_attributes(low: float, high: float, kept: int) -> None:
    model = quantized("Clip", U8, opset=10, min=low, max=high)
    assert_rewritten(model, {"Clip": kept}, feeds=VALUES)


@pytest.mark.parametrize("weight", ["codes", "f32"])
def test_conv_relu_fuses(weight: str) -> None:
    case = replace(CONV, between=(("Relu", {}),), y=Grid(scale=0.1, zero_point=0), weight=weight)
    model = case.model()
    quanta = 1 if weight == "codes" else 8
    assert_rewritten(model, {"QLinearConv": 1, "Relu": 0, "Conv": 0}, quanta)


@pytest.mark.parametrize(
    ("op", "bound", "y", "kept"),
    [
        ("Max", 0.0, U8, 0),
        ("Max", -3.0, U8, 0),
        ("Max", 0.2, U8, 1),
        ("Max", np.nan, U8, 1),
        ("Min", 25.5, U8, 0),
        ("Min", 6.0, U8, 1),
        ("Max", -12.8, Grid(scale=0.1, zero_point=128), 0),
        ("Max", 0.0, Grid(scale=0.1, zero_point=128), 1),
    ],
)
def test_max_and_min_with_a_number(op: str, bound: float, y: Grid, kept: int) -> None:
    feeds = [] if np.isnan(bound) else VALUES
    assert_rewritten(quantized(op, y, (bound,)), {op: kept}, feeds=feeds)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [("Relu", {}), ("Clip", {"bounds": (-0.7, 2.0)}), ("Clip", {"bounds": (0.0, None)})],
)
def test_what_acts_behind_a_conv_clamps_its_codes(
    op: str, attributes: dict[str, tuple[float | None, ...]]
) -> None:
    b = Builder()
    x = b.dq(b.input("x", "u8", (1, 3, 6, 6)), CONV.x)
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    v = b.node("Conv", [x, b.dq(b.constant(codes, "i8"), CONV.w)])
    bounds = [
        "" if bound is None else b.constant(bound, "f32") for bound in attributes.get("bounds", ())
    ]
    b.q(b.node(op, [v, *bounds]), Grid("u8", 0.1, 100), b.output("y", "u8"))
    clamp = "Max" if op == "Relu" else "Clip"
    assert_rewritten(b.model(), {"QLinearConv": 1, "Conv": 0, "DequantizeLinear": 0, clamp: 1}, 1)


def test_what_acts_behind_a_float_op_stays() -> None:
    assert_rewritten(quantized("Relu", Grid(scale=0.1, zero_point=128)), {"Relu": 1}, feeds=VALUES)


G = Grid(scale=0.05, zero_point=7)


def pair(first: Grid, second: Grid) -> ModelProto:
    """x -> DQ(first) -> Q(second) -> Reshape -> y."""
    b = Builder(21)
    codes = b.q(b.dq(b.input("x", first.type, (4, 64)), first), second)
    b.node("Reshape", [codes, b.constant([64, 4], "i64")], b.output("y", second.type))
    return b.model()


@pytest.mark.parametrize(
    "grid", [G, Grid(zero_point=None), Grid("i16", 0.001, 4), Grid(scale=[0.1], zero_point=[3])]
)
def test_a_pair_of_one_grid_goes(grid: Grid) -> None:
    assert_rewritten(pair(grid, grid), {"DequantizeLinear": 0, "QuantizeLinear": 0})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (G, replace(G, scale=0.06)),
        (G, replace(G, zero_point=8)),
        (G, replace(G, type="i8")),
        (Grid(scale=0.0), Grid(scale=0.0)),
        (Grid(scale=1e38), Grid(scale=1e38)),
    ],
)
def test_a_pair_of_two_grids_stays(first: Grid, second: Grid) -> None:
    counts = {"DequantizeLinear": 1, "QuantizeLinear": 1}
    assert_rewritten(pair(first, second), counts, requantize=False)


def test_double_pair_of_one_grid() -> None:
    b = Builder()
    codes = b.q(b.input("x", "f32", (4, 4)), G)
    b.dq(b.q(b.dq(codes, G), G), G, b.output("y", "f32"))
    assert_rewritten(b.model(), {"DequantizeLinear": 1, "QuantizeLinear": 1})


def test_double_pair_of_two_grids_keeps_both_roundings() -> None:
    """onnxruntime merges them, which loses the coarser rounding."""
    b = Builder()
    codes = b.q(b.input("x", "f32", (64,)), Grid(scale=0.4, zero_point=10))
    b.dq(b.q(b.dq(codes, Grid(scale=0.4, zero_point=10)), G), G, b.output("y", "f32"))
    counts = {"DequantizeLinear": 2, "QuantizeLinear": 2}
    assert_rewritten(b.model(), counts, requantize=False)
    counts = {"DequantizeLinear": 1, "QuantizeLinear": 1, f"{MS}::QLinearAdd": 1}
    assert_rewritten(b.model(), counts)


@pytest.mark.parametrize("bounds", [(0.0, 30.0), (0.0, 25.451)])
def test_a_clip_without_effect_behind_a_conv_leaves_nothing(bounds: tuple[float, float]) -> None:
    b = Builder()
    x = b.dq(b.input("x", "u8", (1, 3, 6, 6)), CONV.x)
    codes = np.random.default_rng(0).integers(-60, 60, (4, 3, 3, 3))
    v = b.node("Conv", [x, b.dq(b.constant(codes, "i8"), CONV.w)])
    v = b.node("Clip", [v, *(b.constant(bound, "f32") for bound in bounds)])
    b.q(v, U8, b.output("y", "u8"))
    assert_rewritten(b.model(), {"QLinearConv": 1, "Clip": 0}, 1)


def twins(left: Grid, right: Grid, outputs: int = 0) -> ModelProto:
    """Float x -> Relu -> two Q, each with a Sigmoid behind it or being a graph output."""
    b = Builder(21)
    v = b.node("Relu", [b.input("x", "f32", (513,))])
    for index, grid in enumerate((left, right)):
        if index < outputs:
            b.q(v, grid, b.output(f"q{index}", grid.type))
        else:
            d = b.dq(b.q(v, grid), grid)
            b.q(b.node("Sigmoid", [d]), Grid(scale=1 / 255), b.output(f"y{index}", "u8"))
    return b.model()


SHIFTED = Grid(scale=0.1, zero_point=3)


# onnxruntime has no Sigmoid on 16 bits: their own quantizers stay behind it
@pytest.mark.parametrize(
    ("grid", "outputs", "left"),
    [
        (SHIFTED, 0, 1),
        (SHIFTED, 1, 1),
        (Grid("i16", 0.001, 5), 0, 3),
        (Grid("i16", 0.001, 5), 1, 2),
    ],
)
def test_quantizers_of_one_value_are_one(grid: Grid, outputs: int, left: int) -> None:
    assert_rewritten(twins(grid, grid, outputs), {"QuantizeLinear": left}, feeds=VALUES)


@pytest.mark.parametrize(
    "other",
    [
        replace(SHIFTED, scale=0.2),
        replace(SHIFTED, zero_point=4),
        Grid("i8", 0.1, 3),
        Grid(scale=np.full(513, 0.1), zero_point=3, axis=0),
    ],
    ids=["scale", "zero_point", "type", "per_axis"],
)
def test_quantizers_of_two_grids_stay(other: Grid) -> None:
    model = twins(SHIFTED, other, outputs=2)
    assert_rewritten(model, {"QuantizeLinear": 2}, feeds=VALUES)


def test_two_graph_outputs_keep_their_quantizers() -> None:
    model = twins(SHIFTED, SHIFTED, outputs=2)
    assert_rewritten(model, {}, feeds=VALUES)
