"""The pack `onnx`: standard operators alone, checked with ONNX's reference evaluator as well."""

from __future__ import annotations

from dataclasses import replace

import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from .checks import apply, assert_close, assert_rewritten, operations, run
from .graphs import Grid, Product, binary, feeds, unary

GONE = {"DequantizeLinear": 0, "QuantizeLinear": 0}
CONV = Product(peak=127)
MATMUL = Product("MatMul", x_shape=(2, 3, 8), w_shape=(8, 5), w=Grid("u8", 0.01, 120))
G = Grid(scale=0.05, zero_point=7)


@pytest.mark.parametrize(
    ("model", "op"),
    [
        (replace(CONV, w=Grid("u8", 0.01, 120), bias="i32").model(), "QLinearConv"),
        (replace(CONV, peak=60, bias="f32").model(), "QLinearConv"),
        (MATMUL.model(), "QLinearMatMul"),
        (unary("Transpose", G, G, perm=[0, 2, 3, 1]), "Transpose"),
        (unary("MaxPool", G, G, kernel_shape=[2, 2]), "MaxPool"),
        (unary("Relu", G, G), "Max"),
    ],
    ids=["conv", "float_bias", "matmul", "transpose", "maxpool", "relu"],
)
def test_the_reference_evaluator_agrees(model: ModelProto, op: str) -> None:
    result = assert_rewritten(model, GONE | {op: 1}, 1, pack="onnx")
    assert {entry.domain for entry in result.opset_import} == {""}
    values = feeds(model)
    names = [value.name for value in result.graph.output]
    found = dict(zip(names, ReferenceEvaluator(result).run(None, values), strict=True))
    assert_close(run(model, values), found, 1)


def test_ops_of_other_domains_are_not_made() -> None:
    assert operations(apply(binary("Add"), "onnx"))["Add"] == 1


def test_full_range_weights_stay_int8() -> None:
    """A conforming runtime does not saturate: see `target` of `ort-cpu`."""
    result = apply(CONV.model(), "onnx")
    assert operations(result)["QLinearConv"] == 1


def test_int8_activations_stay_int8() -> None:
    case = replace(CONV, x=Grid("i8", 0.02, 3), y=Grid("i8", 0.1, 3), peak=60)
    assert_rewritten(case.model(), GONE | {"QLinearConv": 1}, 1, pack="onnx")
