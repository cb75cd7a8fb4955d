"""Pools between DQ and Q."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid, unary

GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
G = Grid(scale=0.05, zero_point=7)
Y = Grid(scale=0.03, zero_point=4)
AVERAGE = f"{MS}::QLinearAveragePool"
GLOBAL = f"{MS}::QLinearGlobalAveragePool"


def pooled(op: str, x: Grid = G, y: Grid = G, **attributes: Any) -> ModelProto:
    if op != "GlobalAveragePool":
        attributes.setdefault("kernel_shape", [2, 2])
    return unary(op, x, y, **attributes)


@pytest.mark.parametrize("opset", [12, 13, 21, 22])
def test_maxpool_works_on_codes(opset: int) -> None:
    assert_rewritten(pooled("MaxPool", opset=opset), GONE | {"MaxPool": 1})


@pytest.mark.parametrize(
    "case",
    [
        {"pads": [1, 1, 1, 1]},
        {"ceil_mode": 1, "strides": [4, 4]},
        {"dilations": [2, 2]},
        {"auto_pad": "SAME_LOWER"},
        {"x": Grid("i8", 0.05, -3), "y": Grid("i8", 0.05, -3), "pads": [1, 0, 1, 0]},
        {"x": Grid(zero_point=None), "y": Grid(zero_point=0)},
    ],
)
def test_maxpool_attributes(case: dict[str, Any]) -> None:
    assert_rewritten(pooled("MaxPool", **case), GONE | {"MaxPool": 1})


@pytest.mark.parametrize(
    "case",
    [
        {"opset": 11},
        {"x": Grid(scale=-0.05, zero_point=7), "y": Grid(scale=-0.05, zero_point=7)},
        {"y": Y},
        {"x": Grid("u16", 0.001, 3), "y": Grid("u16", 0.001, 3), "opset": 21},
        {"x": Grid("i4", 0.5, 0), "y": Grid("i4", 0.5, 0), "opset": 21},
        {"x": Grid("u4", 0.5, 0), "y": Grid("u4", 0.5, 0), "opset": 21},
    ],
    ids=["opset11", "negative_scale", "grid", "16_bit", "int4", "uint4"],
)
def test_maxpool_near_misses(case: dict[str, Any]) -> None:
    model = pooled("MaxPool", **case)
    kept = {"MaxPool": 1, "DequantizeLinear": 1, "QuantizeLinear": 1}
    four_bit = model.graph.input[0].type.tensor_type.elem_type > 20
    assert_rewritten(model, kept, feeds=[] if four_bit else None, requantize=False)


def test_maxpool_with_indices_stays() -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (1, 2, 4, 4)), G)
    v = b.node("MaxPool", [v], ["m", b.output("i", "i64")], kernel_shape=[2, 2])
    b.q(v, G, b.output("y", "u8"))
    assert_rewritten(b.model(), {"MaxPool": 1, "DequantizeLinear": 1})


@pytest.mark.parametrize(
    "case",
    [
        {"x": Grid("i8", 0.05, -3), "y": Grid("i8", 0.03, 5)},
        {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]},
        {"ceil_mode": 1, "kernel_shape": [3, 3], "strides": [2, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2], "kernel_shape": [3, 3]},
        {"auto_pad": "VALID", "pads": [0, 0, 0, 0]},
        {"shape": (1, "channels", 6, 6)},
        {"shape": (1, 2, 30, 30), "kernel_shape": [20, 20]},
    ],
    ids=["int8", "pads", "ceil", "auto_pad", "valid_and_pads", "channels", "large"],
)
def test_average_pool_fuses(case: dict[str, Any]) -> None:
    model = pooled("AveragePool", **({"y": Y} | case))
    assert_rewritten(model, GONE | {AVERAGE: 1, "AveragePool": 0}, 1)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"opset": 10},
        {"opset": 22},
        {"opset": 19, "dilations": [1, 1]},
        {"x": Grid(scale=[0.05], zero_point=[3]), "y": Grid(scale=[0.04], zero_point=[3])},
        {"x": Grid(zero_point=None), "y": Grid(zero_point=None)},
        {"pads": [1, 0, 2, 1], "kernel_shape": [3, 3], "count_include_pad": 1},
        {"strides": [2, 3], "auto_pad": "VALID"},
        {"shape": (2, 3, 9), "kernel_shape": [3]},
        {"shape": (1, 2, 4, 4, 4), "kernel_shape": [2, 2, 2]},
        {"shape": ("n", 3, "h", "w"), "sizes": {"n": 2, "h": 7, "w": 5}},
        {"domain": MS, "opset": 17},
    ],
)
@pytest.mark.parametrize("pack", ["onnx", "ort-cpu"])
def test_average_pool_is_a_convolution(pack: str, case: dict[str, Any]) -> None:
    gone = {f"{MS}::QuantizeLinear": 0, f"{MS}::DequantizeLinear": 0}
    case = {"y": Y} | case
    sizes = case.pop("sizes", None)
    counts = GONE | gone | {"QLinearConv": 1, "AveragePool": 0}
    assert_rewritten(pooled("AveragePool", **case), counts, 1, pack=pack, sizes=sizes)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"strides": [6, 6], "ceil_mode": 1, "count_include_pad": 1},
        {"x": Grid("i8", 0.05, -3), "y": Grid("i8", 0.03, 5)},
    ],
)
def test_average_pool_of_all_positions(case: dict[str, Any]) -> None:
    model = pooled("AveragePool", **({"y": Y, "kernel_shape": [6, 6]} | case))
    assert_rewritten(model, GONE | {GLOBAL: 1, "AveragePool": 0}, 1)


@pytest.mark.parametrize(
    "case",
    [
        {"dilations": [2, 2]},
        {"ceil_mode": 1, "count_include_pad": 1, "strides": [2, 2], "shape": (1, 2, 7, 7)},
        {"x": Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1)},
        {"y": Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1)},
        {"x": Grid(scale=0.0)},
        {"x": Grid(scale=1e11), "y": Grid(scale=1e-11)},
        {"y": Grid("i8", 0.03, 0)},
        {"kernel_shape": [6, 6], "x": Grid(scale=1.0), "y": Grid(scale=1e-25)},
    ],
    ids=["dilations", "overhang", "x_per_axis", "y_per_axis", "zero", "ratio", "types", "all"],
)
def test_average_pool_near_misses(case: dict[str, Any]) -> None:
    assert_rewritten(pooled("AveragePool", **case), {AVERAGE: 0, GLOBAL: 0, "AveragePool": 1})


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"opset": 10},
        {"x": Grid("i8", 0.05, -3), "y": Grid("i8", 0.03, 5)},
        {"x": Grid(scale=[0.05], zero_point=[3]), "y": Grid(scale=[0.04], zero_point=[3])},
        {"x": Grid(zero_point=None), "y": Grid(zero_point=None)},
        {"shape": (2, 3, 9)},
        {"shape": (1, 2, 4, 4, 4)},
        {"shape": (1, 2, 1, 1)},
    ],
)
def test_global_average_pool_fuses(case: dict[str, Any]) -> None:
    model = pooled("GlobalAveragePool", **({"y": Y} | case))
    assert_rewritten(model, GONE | {GLOBAL: 1, "GlobalAveragePool": 0}, 1)


@pytest.mark.parametrize(
    "case",
    [
        {"x": Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1)},
        {"x": Grid(scale=-0.1, zero_point=3)},
        {"x": Grid(scale=np.inf)},
        {"x": Grid(scale=1.0), "y": Grid(scale=1e-3)},
    ],
    ids=["per_axis", "negative", "infinite", "multiplier_the_kernel_refuses"],
)
def test_global_average_pool_near_misses(case: dict[str, Any]) -> None:
    assert_rewritten(pooled("GlobalAveragePool", **case), {GLOBAL: 0, "GlobalAveragePool": 1})
