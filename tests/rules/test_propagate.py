"""Quantizers and dequantizers move over data movement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from .checks import assert_rewritten
from .graphs import MS, Builder, Grid, Product

CASE = Product(y=Grid(scale=0.1, zero_point=100))
MOVES: dict[str, dict[str, Any]] = {
    "Transpose": {"perm": [0, 2, 3, 1]},
    "Flatten": {"axis": 2},
}


@pytest.mark.parametrize("op", MOVES)
def test_quantizer_behind_movement(op: str) -> None:
    case = replace(CASE, between=((op, MOVES[op]),))
    counts = {"QLinearConv": 1, op: 1, "DequantizeLinear": 0, "QuantizeLinear": 0}
    assert_rewritten(case.model(), counts, 1)


def test_quantizer_behind_maxpool() -> None:
    case = replace(
        CASE, between=(("MaxPool", {"kernel_shape": [2, 2]}), ("Transpose", MOVES["Transpose"]))
    )
    counts = {"QLinearConv": 1, "MaxPool": 1, "DequantizeLinear": 0, "QuantizeLinear": 0}
    assert_rewritten(case.model(), counts, 1)


@pytest.mark.parametrize("type", ["u8", "i8"])
def test_dequantizer_before_movement(type: str) -> None:
    """onnxruntime makes uint8 of int8 without a zero point below opset 21."""
    b = Builder(17)
    grid = Grid(type, 0.05, None)
    v = b.node("Transpose", [b.dq(b.input("x", type, (2, 3, 4)), grid)], perm=[2, 0, 1])
    b.node("Softsign", [b.node("Flatten", [v])], b.output("y", "f32"))
    result = assert_rewritten(b.model(), {"DequantizeLinear": 1, "QuantizeLinear": 0})
    assert [node.op_type for node in result.graph.node] == [
        "Transpose",
        "Flatten",
        "DequantizeLinear",
        "Softsign",
    ]


def test_a_float_value_used_twice_stays() -> None:
    b = Builder()
    v = b.node("Softsign", [b.input("x", "f32", (2, 3))])
    t = b.node("Transpose", [v])
    b.q(t, Grid(), b.output("y", "u8"))
    b.node("Abs", [t], b.output("z", "f32"))
    result = assert_rewritten(b.model(), {"QuantizeLinear": 1})
    assert result.graph.node[1].op_type == "Transpose"


def test_16_bits_of_com_microsoft_move() -> None:
    b = Builder(17, MS)
    grid = Grid("u16", 0.001, 7)
    v = b.node("Transpose", [b.dq(b.input("x", "u16", (2, 3, 4)), grid)], perm=[2, 0, 1])
    b.node("Softsign", [v], b.output("y", "f32"))
    counts = {f"{MS}::DequantizeLinear": 1, "DequantizeLinear": 0}
    assert_rewritten(b.model(), counts)
