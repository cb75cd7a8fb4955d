"""Activations computed by the table kernels of other ops."""

from __future__ import annotations

import tempfile
from collections import Counter

import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from .checks import assert_rewritten, operations
from .graphs import MS, Builder, Grid, unary

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


TABLE = {"GatherElements": 1, "Cast": 1, "Reshape": 2}
U8, I8 = Grid(scale=0.031, zero_point=100), Grid("i8", 0.02, -3)


@pytest.mark.parametrize("op", ["Softplus", "Mish", "Log", "Sin", "Cos", "Elu", "Selu", "Celu"])
@pytest.mark.parametrize(("x", "y"), [(U8, Grid(scale=0.0471, zero_point=9)), (I8, I8), (I8, U8)])
def test_costly_functions_as_tables(op: str, x: Grid, y: Grid) -> None:
    model = unary(op, x, y, shape=CODES, opset=22)
    assert_rewritten(model, {op: 1, "GatherElements": 0})
    assert_rewritten(model, GONE | TABLE | {op: 0}, tables=True)


@pytest.mark.parametrize("exponent", [0.5, 3.0, -1.3])
def test_powers_as_tables(exponent: float) -> None:
    model = unary("Pow", U8, Grid(scale=0.05), shape=CODES, extra=[(exponent, "f32")])
    assert_rewritten(model, GONE | TABLE | {"Pow": 0}, tables=True)


@pytest.mark.parametrize("shape", [(16, "n"), (16, 16), ()])
def test_chains_as_tables(shape: tuple[int | str, ...]) -> None:
    b = Builder(18)
    v = b.dq(b.input("x", "u8", shape), U8)
    for op in ("Abs", "Softplus", "Tanh"):
        v = b.node(op, [v])
    b.q(v, Grid(scale=1 / 200, zero_point=3), b.output("y", "u8"))
    assert_rewritten(b.model(), GONE | TABLE | {"Tanh": 0}, tables=True, sizes={"n": 16})


def test_tables_need_dimensions() -> None:
    model = unary("Mish", U8, I8, shape=("n", "m"), opset=18)
    assert_rewritten(model, {"Mish": 1}, tables=True, sizes={"n": 16, "m": 16})


@pytest.mark.parametrize(("shape", "in_float"), [((2, 3, 16), 1), ((20, 15), 0), ((2, "n"), 0)])
def test_softmax_of_long_rows_is_float_on_demand(
    shape: tuple[int | str, ...], in_float: int
) -> None:
    model = unary("Softmax", Grid(zero_point=100), Grid(scale=1 / 255), shape=shape, axis=-1)
    fused = f"{MS}::QLinearSoftmax"
    assert_rewritten(model, GONE | {fused: 1}, 1, sizes={"n": 20})
    counts = {fused: 1 - in_float, "Softmax": in_float, "Sum": in_float}
    result = assert_rewritten(model, counts, 1, sizes={"n": 20}, softmax="fast")
    if in_float:
        assert optimized(result)["Softmax"] == 1


def optimized(model: ModelProto) -> Counter[str]:
    """The ops that onnxruntime itself would run."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = f"{folder}/optimized.onnx"
        options.log_severity_level = 4
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return operations(onnx.load(options.optimized_model_filepath))
