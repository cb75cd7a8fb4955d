"""Every op that onnxruntime fuses, alone between DQ and Q, with float graph inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from onnx import ModelProto

from .checks import apply, assert_valid, operations, run
from .graphs import ONNX, Builder, Grid, feeds


@dataclass(frozen=True)
class Island:
    """How many quantized operands an op has, their shape, its constants and its attributes."""

    operands: int = 1
    shape: tuple[int, ...] = (1, 4, 4, 4)
    weight: tuple[int, ...] = ()
    """Shape of a quantized constant that is the last operand; empty: there is none."""
    before: tuple[tuple[ArrayLike, str], ...] = ()
    after: tuple[tuple[ArrayLike, str], ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()
    result: str = "quantized"
    """"quantized": a Q follows; "float": it is a graph output; "index": an int64 graph output."""


ISLANDS = {
    "Conv": Island(weight=(4, 4, 3, 3)),
    "MatMul": Island(shape=(3, 8), weight=(8, 5)),
    "MatMul to float": Island(shape=(3, 8), weight=(8, 5), result="float"),
    "Gemm": Island(shape=(3, 8), weight=(8, 5)),
    "Gemm to float": Island(shape=(3, 8), weight=(8, 5), result="float"),
    "Add": Island(operands=2),
    "Mul": Island(operands=2),
    "Concat": Island(operands=2, attributes=(("axis", 1),)),
    "Where": Island(operands=2, before=((np.eye(4) > 0, "bool"),)),
    "Sigmoid": Island(),
    "LeakyRelu": Island(),
    "Softmax": Island(shape=(3, 8)),
    "AveragePool": Island(attributes=(("kernel_shape", [2, 2]),)),
    "GlobalAveragePool": Island(),
    "MaxPool": Island(attributes=(("kernel_shape", [2, 2]),)),
    "ReduceMax": Island(after=(([1, 2], "i64"),)),
    "ReduceMin": Island(after=(([1, 2], "i64"),)),
    "ArgMax": Island(attributes=(("axis", 1),), result="index"),
    "DepthToSpace": Island(attributes=(("blocksize", 2),)),
    "Resize": Island(after=(([], "f32"), ([1, 1, 2, 2], "f32")), attributes=(("mode", "nearest"),)),
    "Reshape": Island(after=(([4, 16], "i64"),)),
    "Flatten": Island(),
    "Transpose": Island(),
    "Expand": Island(after=(([2, 4, 4, 4], "i64"),)),
    "Tile": Island(after=(([1, 2, 1, 1], "i64"),)),
    "Slice": Island(after=(([1], "i64"), ([3], "i64"), ([2], "i64"))),
    "Gather": Island(after=(([1, 0], "i64"),), attributes=(("axis", 1),)),
    "GatherElements": Island(after=((np.zeros((1, 4, 4, 4)), "i64"),)),
    "Squeeze": Island(after=(([0], "i64"),)),
    "Unsqueeze": Island(after=(([0], "i64"),)),
    "Split": Island(attributes=(("axis", 1), ("num_outputs", 1))),
}

MOVEMENT = {
    "DepthToSpace", "Resize", "Reshape", "Flatten", "Transpose", "Expand", "Tile", "Slice",
    "Gather", "GatherElements", "Squeeze", "Unsqueeze", "Split", "Where",
}  # fmt: skip
"""Ops that work on codes whatever the sign of the scale is."""
WITHIN_ONE = {"Add", "Mul", "AveragePool", "GlobalAveragePool", "Softmax", "Conv", "MatMul", "Gemm"}


def island(
    name: str, x: Grid, y: Grid, opset: int = 25, *, stated: bool = False, floats: str = "f32"
) -> ModelProto:
    """float -> Q -> DQ -> op -> Q -> DQ -> float, of this float type.

    `stated`: Q names its type by output_dtype.
    """
    case = ISLANDS[name]
    b = Builder(opset, scale_type=floats)

    def q(value: str, grid: Grid) -> str:
        return b.q(value, grid, output_dtype=ONNX[grid.type] if stated else None)

    operands = [b.constant(value, type) for value, type in case.before]
    for i in range(case.operands):
        operands.append(b.dq(q(b.input(f"x{i}", floats, case.shape), x), x))
    if case.weight:
        codes = np.random.default_rng(0).integers(-1, 2, case.weight)
        operands.append(b.dq(b.constant(codes % 4 if x.type[0] == "u" else codes, x.type), x))
    operands += [b.constant(value, type) for value, type in case.after]
    op = name.removesuffix(" to float")
    output = {"float": ("y", floats), "index": ("y", "i64")}.get(case.result)
    v = b.node(op, operands, b.output(*output) if output else "", **dict(case.attributes))
    if output is None:
        b.dq(q(v, y), y, b.output("y", floats))
    return b.model()


def assert_island(name: str, model: ModelProto, scale: float, *, fused: bool) -> None:
    """Only the Q and DQ at the borders are left, or none has gone; the same numbers."""
    result = apply(model)
    before, after = operations(model), operations(result)
    kinds = ("QuantizeLinear", "DequantizeLinear")
    case = ISLANDS[name]
    if fused:
        borders = (case.operands, 1 if case.result == "quantized" else 0)
        assert tuple(after[kind] for kind in kinds) == borders, dict(after)
    else:
        assert after == before
    assert_valid(result)
    for seed in range(2):
        values = feeds(model, seed)
        expected, actual = run(model, values)["y"], run(result, values)["y"]
        assert expected.dtype == actual.dtype and expected.shape == actual.shape
        limit = 1.001 * abs(scale) if name in WITHIN_ONE else 0.0
        if case.result == "float":
            limit = 1e-5 * float(np.abs(expected).max())
        assert np.abs(expected - actual).max() <= limit
