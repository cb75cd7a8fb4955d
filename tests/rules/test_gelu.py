"""Gelu and SiLU, spelt out between DQ and Q, are one op."""

from __future__ import annotations

import math
from typing import Any

import pytest
from onnx import ModelProto

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid

X = Grid(scale=0.05, zero_point=120)
Y = Grid(scale=0.03, zero_point=5)
SQRT_2 = math.sqrt(2.0)


def erf_gelu(
    order: str = "x*n*h",
    divide: bool = True,
    twin: bool = False,
    constants: tuple[float, float] = (1.0, 0.5),
    shape: tuple[int, ...] = (),
    reach: bool = False,
    root: float = SQRT_2,
    x: Grid = X,
    y: Grid = Y,
) -> ModelProto:
    """x (1 + erf(x / root)) / 2 over all codes; `twin`: with a DQ for each use of x."""
    b = Builder()
    d = b.dq(b.input("x", x.type, (16, 16)), x)
    e = b.dq("x", x) if twin else d
    one, half = (b.constant([c] if shape == (1,) else c, "f32") for c in constants)
    if shape == (1, 1, 1):
        one = b.constant([[[1.0]]], "f32")
    scaled = (
        b.node("Div", [e, b.constant(root, "f32")])
        if divide
        else b.node("Mul", [b.constant(1 / root, "f32"), e])
    )
    n = b.node("Add", [b.node("Erf", [scaled]), one])
    if order == "x*n*h":
        v = b.node("Mul", [b.node("Mul", [n, d]), half])
    elif order == "x*h*n":
        v = b.node("Mul", [b.node("Mul", [d, half]), n])
    else:
        v = b.node("Mul", [d, b.node("Mul", [half, n])])
    if reach:
        b.node("Identity", [n], b.output("n", "f32"))
    b.q(v, y, b.output("y", y.type))
    return b.model()


FUSED = {f"{MS}::Gelu": 1, "Erf": 0, "Mul": 0, "DequantizeLinear": 1, "QuantizeLinear": 1}


@pytest.mark.parametrize("order", ["x*n*h", "x*h*n", "x*(n*h)"])
@pytest.mark.parametrize("divide", [True, False])
@pytest.mark.parametrize(
    "case",
    [
        {},
        {"twin": True},
        {"shape": (1,)},
        {"x": Grid("i8", 0.05, -3), "y": Grid("i8", 0.05, -100)},
        {"x": Grid(scale=2.0**-5, zero_point=128), "y": Grid(scale=2.0**-6, zero_point=11)},
        {"y": Grid("i8", 0.05, 0)},
    ],
)
def test_erf_gelu(order: str, divide: bool, case: dict[str, Any]) -> None:
    assert_rewritten(erf_gelu(order, divide, **case), FUSED, 1)


@pytest.mark.parametrize(
    "case",
    [
        {"root": 1.41},
        {"constants": (1.0, 0.25)},
        {"constants": (2.0, 0.5)},
        {"shape": (1, 1, 1)},
        {"reach": True},
        {"y": Grid(scale=1e-9, zero_point=3)},
        {"x": Grid(scale=float("nan"))},
    ],
    ids=["root", "half", "one", "rank", "another_use", "fine_result", "nan"],
)
def test_erf_gelu_near_misses(case: dict[str, Any]) -> None:
    assert_rewritten(erf_gelu(**case), {f"{MS}::Gelu": 0, "Erf": 1})


def silu(twin: bool = False, swapped: bool = False, x: Grid = X, y: Grid = Y) -> ModelProto:
    b = Builder()
    d = b.dq(b.input("x", x.type, (16, 16)), x)
    s = b.node("Sigmoid", [b.dq("x", x) if twin else d])
    b.q(b.node("Mul", [s, d] if swapped else [d, s]), y, b.output("y", y.type))
    return b.model()


@pytest.mark.parametrize("twin", [True, False])
@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("x", [X, Grid("i8", 0.05, -3), Grid(scale=[0.05], zero_point=[7])])
def test_silu(twin: bool, swapped: bool, x: Grid) -> None:
    counts = {f"{MS}::QuickGelu": 1, "Sigmoid": 0, "Mul": 0, "DequantizeLinear": 1}
    assert_rewritten(silu(twin, swapped, x), counts, 1)


def test_two_tensors_are_no_silu() -> None:
    b = Builder()
    d, e = (b.dq(b.input(name, "u8", (16, 16)), X) for name in "xz")
    b.q(b.node("Mul", [d, b.node("Sigmoid", [e])]), Y, b.output("y", "u8"))
    assert_rewritten(b.model(), {f"{MS}::QuickGelu": 0, "Sigmoid": 1})


def test_two_grids_are_no_silu() -> None:
    b = Builder()
    b.input("x", "u8", (16, 16))
    d, e = (b.dq("x", grid) for grid in (X, Y))
    b.q(b.node("Mul", [d, b.node("Sigmoid", [e])]), Y, b.output("y", "u8"))
    assert_rewritten(b.model(), {f"{MS}::QuickGelu": 0, "Sigmoid": 1})
