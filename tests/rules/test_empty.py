"""Tensors without elements: kernels leave sums of nothing unwritten, or refuse to run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from onnx import ModelProto

from .checks import apply, assert_close, assert_valid, run
from .graphs import Builder, Grid, feeds, unary

X, W, Y = Grid(scale=0.02, zero_point=128), Grid("u8", 0.01, 120), Grid(scale=0.1, zero_point=100)


def product(op: str, left: Sequence[int], right: Sequence[int], quantized: bool) -> ModelProto:
    """x by a constant, both behind DQ; `quantized`: with a Q behind, else float."""
    b = Builder(19)
    w = b.constant(np.zeros(right), W.type)
    operands = [b.dq(b.input("x", X.type, left), X), b.dq(w, W)]
    if quantized:
        b.q(b.node(op, operands), Y, b.output("y", Y.type))
    else:
        b.node(op, operands, b.output("y", "f32"))
    return b.model()


def float_product(right: Sequence[int]) -> ModelProto:
    """A float x by a constant behind DQ."""
    b = Builder(19)
    w = b.dq(b.constant(np.zeros(right), "i8"), Grid("i8", 0.01, None))
    b.node("MatMul", [b.input("x", "f32", (2, right[0])), w], b.output("y", "f32"))
    return b.model()


def mean(axes: list[int], keep: int, opset: int) -> ModelProto:
    given = {"axes": axes} if opset < 18 else {}
    extra = [(axes, "i64")] if opset >= 18 else []
    shape = (2, 3, 0, 4)
    return unary("ReduceMean", X, Y, shape=shape, opset=opset, extra=extra, keepdims=keep, **given)


@pytest.mark.parametrize(
    "model",
    [
        product("MatMul", (2, 0), (0, 3), True),
        product("MatMul", (4, 2, 0), (0, 3), True),
        product("MatMul", (2, 0), (0, 3), False),
        product("MatMul", (0, 5), (5, 3), True),
        product("Gemm", (2, 0), (0, 3), True),
        product("Gemm", (2, 0), (0, 3), False),
        float_product((0, 3)),
        float_product((5, 0)),
        *(mean([2, 3], keep, opset) for keep in (0, 1) for opset in (17, 18)),
        unary("GlobalAveragePool", X, Y, shape=(0, 3, 4, 4)),
        unary("Relu", X, X, shape=(0, 3)),
        unary("Sigmoid", X, Y, shape=(2, 0)),
    ],
)
def test_nothing_is_computed_as_the_unfused_model_does(model: ModelProto) -> None:
    result = apply(model)
    assert_valid(result)
    values = feeds(model)
    for _ in range(3):  # what is left unwritten may be right by chance
        assert_close(run(model, values), run(result, values), 1)
