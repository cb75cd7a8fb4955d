"""Add, Mul, Sigmoid, LeakyRelu and Concat between DQ and Q: com.microsoft's integer kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid, binary, unary

GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
A, B, Y = Grid(zero_point=120), Grid(scale=0.02, zero_point=7), Grid(scale=0.07, zero_point=100)
EVERY_PAIR = {
    "a": np.repeat(np.arange(256), 256).astype(np.uint8),
    "b": np.tile(np.arange(256), 256).astype(np.uint8),
}


def signed(grid: Grid) -> Grid:
    assert isinstance(grid.zero_point, int)
    return replace(grid, type="i8", zero_point=grid.zero_point - 128)


@pytest.mark.parametrize("op", ["Add", "Mul"])
@pytest.mark.parametrize(
    "scales", [(0.05, 0.02, 0.07), (0.5, 0.5, 1.0), (1e-10, 1e-10, 1e-10), (4.0, 0.01, 0.5)]
)
def test_every_pair_of_codes(op: str, scales: tuple[float, float, float]) -> None:
    if op == "Mul" and scales[0] < 1e-5:
        scales = (1e-10, 1e-2, 1e-11)
    a, b, y = (replace(g, scale=s) for g, s in zip((A, B, Y), scales, strict=True))
    model = binary(op, a, b, y, shapes=((65536,), (65536,)))
    assert_rewritten(model, GONE | {f"{MS}::QLinear{op}": 1, op: 0}, 1, feeds=[EVERY_PAIR])


@pytest.mark.parametrize("op", ["Add", "Mul"])
@pytest.mark.parametrize(
    "case",
    [
        pytest.param({"left": signed(A), "right": signed(B), "y": signed(Y)}, id="int8"),
        pytest.param({"opset": 10}, id="opset10"),
        pytest.param({"opset": 21}, id="opset21"),
        pytest.param({"domain": MS, "opset": 17}, id="com_microsoft"),
        pytest.param({"shapes": ((2, 3, 4), (3, 1))}, id="broadcast"),
        pytest.param({"shapes": ((2, 3, 4), ())}, id="scalar"),
        pytest.param(
            {"left": replace(A, zero_point=None), "y": replace(Y, zero_point=None)},
            id="no_zero_point",
        ),
        pytest.param({"left": Grid(scale=[0.05], zero_point=[3])}, id="scale_of_one_element"),
    ],
)
def test_binary_fuses(op: str, case: dict[str, Any]) -> None:
    gone = {f"{MS}::QuantizeLinear": 0, f"{MS}::DequantizeLinear": 0}
    assert_rewritten(binary(op, **case), GONE | gone | {f"{MS}::QLinear{op}": 1, op: 0}, 1)


@pytest.mark.parametrize("op", ["Add", "Mul"])
@pytest.mark.parametrize(
    "case",
    [
        pytest.param({"left": Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1)}, id="per_axis"),
        pytest.param({"y": Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1)}, id="y_per_axis"),
        pytest.param({"left": replace(A, scale=0.0)}, id="zero_scale"),
        pytest.param({"y": replace(Y, scale=np.nan)}, id="nan_scale"),
        pytest.param(
            {
                "left": replace(A, scale=1e6),
                "right": replace(B, scale=1e6),
                "y": replace(Y, scale=1e-6),
            },
            id="ratio_of_scales",
        ),
        pytest.param(
            {g: replace(v, type="u16") for g, v in (("left", A), ("right", B), ("y", Y))}
            | {"opset": 21},
            id="16_bit",
        ),
    ],
)
def test_binary_near_misses(op: str, case: dict[str, Any]) -> None:
    assert_rewritten(binary(op, **case), {f"{MS}::QLinear{op}": 0, op: 1})


def test_adding_a_mask_as_wide_as_float32() -> None:
    mask = Grid(scale=1.3344406e36, zero_point=255)
    model = binary("Add", A, mask, mask, shapes=((65536,), (65536,)))
    assert_rewritten(model, {f"{MS}::QLinearAdd": 1}, 1, feeds=[EVERY_PAIR])


@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_one_dq_for_both_operands(op: str) -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (2, 3)), A)
    b.q(b.node(op, [v, v]), Y, b.output("y", "u8"))
    assert_rewritten(b.model(), GONE | {f"{MS}::QLinear{op}": 1, op: 0}, 1)


def test_a_float_operand_blocks() -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (2, 3)), A)
    b.q(b.node("Add", [v, b.input("f", "f32", (2, 3))]), Y, b.output("y", "u8"))
    assert_rewritten(b.model(), {f"{MS}::QLinearAdd": 0, "Add": 1})


CODES = {"x": np.arange(256).astype(np.uint8)}
SIGNED_CODES = {"x": np.arange(-128, 128).astype(np.int8)}


@pytest.mark.parametrize("op", ["Sigmoid", "LeakyRelu"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (Grid(scale=0.05, zero_point=100), Grid(scale=1 / 256, zero_point=0)),
        (Grid(scale=0.5, zero_point=3), Grid(scale=0.25, zero_point=9)),
        (Grid(scale=[0.05], zero_point=[100]), Grid(scale=[0.01], zero_point=[3])),
        (Grid(scale=0.05, zero_point=None), Grid(scale=0.01, zero_point=None)),
        (Grid("i8", 0.05, -3), Grid("i8", 1 / 256, -128)),
        (Grid("i8", 0.05, None), Grid("i8", 0.01, 0)),
        (Grid(scale=1e-12, zero_point=128), Grid(scale=1e-12, zero_point=128)),
    ],
)
def test_tables_are_exact_for_every_code(op: str, x: Grid, y: Grid) -> None:
    feeds = CODES if x.type == "u8" else SIGNED_CODES
    counts = GONE | {f"{MS}::QLinear{op}": 1, op: 0}
    assert_rewritten(unary(op, x, y, shape=(256,)), counts, 0, feeds=[feeds])


def test_leaky_relu_keeps_its_slope() -> None:
    counts = GONE | {f"{MS}::QLinearLeakyRelu": 1}
    model = unary("LeakyRelu", A, Y, shape=(256,), alpha=-0.7)
    assert_rewritten(model, counts, 0, feeds=[CODES])


@pytest.mark.parametrize("op", ["Sigmoid", "LeakyRelu"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1), Y),
        (A, Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1)),
        (replace(A, scale=0.0), Y),
        (A, replace(Y, type="i8", zero_point=0)),
    ],
    ids=["x_per_axis", "y_per_axis", "zero_scale", "types"],
)
def test_table_near_misses(op: str, x: Grid, y: Grid) -> None:
    assert_rewritten(unary(op, x, y, shape=(2, 3)), {f"{MS}::QLinear{op}": 0, op: 1})


def concat(*grids: Grid, y: Grid = Y, opset: int = 19, domain: str = "", axis: int = 1) -> Builder:
    b = Builder(opset, domain)
    parts = [b.dq(b.input(f"x{i}", grid.type, (2, 3, 4)), grid) for i, grid in enumerate(grids)]
    b.q(b.node("Concat", parts, axis=axis), y, b.output("y", y.type))
    return b


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(concat(A), id="one"),
        pytest.param(concat(A, B), id="two"),
        pytest.param(concat(A, B, Grid(zero_point=None), axis=-1), id="three"),
        pytest.param(concat(A, B, opset=11), id="opset11"),
        pytest.param(concat(signed(A), signed(B), y=signed(Y)), id="int8"),
        pytest.param(concat(Grid(scale=[0.05], zero_point=[3]), B), id="scale_of_one_element"),
    ],
)
def test_concat_fuses(case: Builder) -> None:
    assert_rewritten(case.model(), GONE | {f"{MS}::QLinearConcat": 1, "Concat": 0})


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(concat(A, Grid(scale=[0.1, 0.2, 0.3], zero_point=0, axis=1)), id="per_axis"),
        pytest.param(concat(A, replace(B, scale=0.0)), id="zero_scale"),
        pytest.param(
            concat(
                replace(A, type="u16"), replace(B, type="u16"), y=replace(Y, type="u16"), opset=21
            ),
            id="16_bit",
        ),
    ],
)
def test_concat_near_misses(case: Builder) -> None:
    assert_rewritten(case.model(), {f"{MS}::QLinearConcat": 0, "Concat": 1})


def test_a_tensor_concatenated_with_itself() -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (2, 3)), A)
    b.q(b.node("Concat", [v, v], axis=0), Y, b.output("y", "u8"))
    assert_rewritten(b.model(), GONE | {f"{MS}::QLinearConcat": 1})


def test_a_float_part_blocks_concat() -> None:
    b = Builder()
    v = b.dq(b.input("x", "u8", (2, 3)), A)
    b.q(b.node("Concat", [v, b.input("f", "f32", (2, 3))], axis=0), Y, b.output("y", "u8"))
    assert_rewritten(b.model(), {f"{MS}::QLinearConcat": 0, "Concat": 1})


@pytest.mark.parametrize("op", ["Sigmoid", "LeakyRelu"])
def test_output_type_stated_by_attribute_alone(op: str) -> None:
    """onnxruntime fills in a uint8 zero point and cannot load the result."""
    x, y = Grid("i8", 0.05, None), Grid("i8", 0.01, None)
    model = unary(op, x, y, shape=(256,), opset=21, output_dtype=TensorProto.INT8)
    assert_rewritten(model, {f"{MS}::QLinear{op}": 1}, 0, feeds=[SIGNED_CODES])


def test_a_zero_point_that_is_no_constant_blocks() -> None:
    """The kernels take scalars alone; shape [1] becomes one only where it is constant."""
    b = Builder()
    zero = b.input("zero", "u8", (1,))
    v = b.node("DequantizeLinear", [b.input("x", "u8", (2, 3)), b.constant([0.05], "f32"), zero])
    b.q(b.node("Add", [v, v]), Y, b.output("y", "u8"))
    assert_rewritten(b.model(), {f"{MS}::QLinearAdd": 0, "Add": 1})
