"""Activations computed by the table kernels of other ops."""

from __future__ import annotations

import pytest

from .checks import assert_rewritten
from .graphs import MS, Grid, unary

GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
SIGMOID = f"{MS}::QLinearSigmoid"
CODES = (16, 16)


@pytest.mark.parametrize("divisor", [128, 127, 100, 20])
@pytest.mark.parametrize("x", [Grid(scale=0.031, zero_point=100), Grid("i8", 0.02, 5)])
@pytest.mark.parametrize("opset", [11, 13, 19])
def test_tanh_on_a_scale_that_divides_1(divisor: int, x: Grid, opset: int) -> None:
    y = Grid(x.type, 1 / divisor, 128 if x.type == "u8" else 0)
    counts = GONE | {"Tanh": 0, SIGMOID: 1}
    for scale in (x.scale, 2.0**-6):
        grid = Grid(x.type, scale, x.zero_point)
        assert_rewritten(unary("Tanh", grid, y, shape=CODES, opset=opset), counts)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (Grid(), Grid(scale=1 / 127.5, zero_point=128)),
        (Grid(), Grid(scale=1 / 128, zero_point=127)),
        (Grid(), Grid("i8", 1 / 127, 0)),
        (Grid(scale=-0.05), Grid(scale=1 / 128, zero_point=128)),
        (Grid(), Grid(scale=-1 / 128, zero_point=128)),
    ],
    ids=["no_divisor", "zero_point_too_low", "types", "negative", "negative_result"],
)
def test_tanh_near_misses(x: Grid, y: Grid) -> None:
    assert_rewritten(unary("Tanh", x, y, shape=CODES), {"Tanh": 1, SIGMOID: 0})
