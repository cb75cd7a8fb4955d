"""The assertions of qrewrite.testing, on models whose difference is known."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from qrewrite.testing import assert_equivalent, assert_idempotent, compare_models
from qrewrite.testing.compare import cases_of
from qrewrite.testing.comparison import may_saturate
from qrewrite.testing.reference import Evaluator

HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEAD} {text}")


UNFUSED = """
g (uint8[2, 8] a) => (uint8[2, 3] y)
<float s = {0.1}, uint8 z = {3},
 int8[8, 3] w = {100, 120, -128, 127, 127, 127, 90, 80, 70, 100, 120,
 -128, 127, 127, 127, 90, 80, 70, 100, 120, -128, 127, 127, 127}, float t = {4.0}, int8 o = {0}> {
    p = DequantizeLinear(a, s, z)
    q = DequantizeLinear(w, s, o)
    m = MatMul(p, q)
    y = QuantizeLinear(m, t, z)
}
"""
FUSED = """
g (uint8[2, 8] a) => (uint8[2, 3] y)
<float s = {0.1}, uint8 z = {3},
 int8[8, 3] w = {100, 120, -128, 127, 127, 127, 90, 80, 70, 100, 120,
 -128, 127, 127, 127, 90, 80, 70, 100, 120, -128, 127, 127, 127}, float t = {4.0}, int8 o = {0}> {
    y = QLinearMatMul(a, s, z, w, s, o, t, z)
}
"""


def test_a_kernel_that_saturates_is_not_charged_to_a_rule() -> None:
    """uint8 by int8 beyond 64 may saturate on x86; exact arithmetic says the two are equal."""
    assert may_saturate(model(FUSED))
    assert_equivalent(model(UNFUSED), model(FUSED))


def test_a_wrong_scale_is_found() -> None:
    wrong = model(FUSED.replace("float t = {4.0}", "float t = {4.4}"))
    with pytest.raises(AssertionError, match="quanta apart where 0 are allowed"):
        assert_equivalent(model(UNFUSED), wrong)


def test_quanta_allow_what_they_say() -> None:
    off = model(
        FUSED.replace("y = QLinear", "x = QLinear")
        .replace("> {", ", uint8 k = {1}> {", 1)
        .replace("t, z)\n}", "t, z)\n y = Add(x, k)\n}")
    )
    inputs = [{"a": np.full((2, 8), 3, np.uint8)}]
    with pytest.raises(AssertionError):
        assert_equivalent(model(UNFUSED), off, inputs=inputs)
    assert_equivalent(model(UNFUSED), off, quanta=1, inputs=inputs)


def test_exact_values_are_those_of_integer_arithmetic() -> None:
    codes = np.arange(16, dtype=np.uint8).reshape(2, 8) * 16
    values = Evaluator(model(UNFUSED)).run({"a": codes})
    weight = onnx.numpy_helper.to_array(model(UNFUSED).graph.initializer[2]).astype(np.int64)
    sums = (codes.astype(np.int64) - 3) @ weight
    expected = np.clip(np.rint(sums * 0.01 / 4.0) + 3, 0, 255)
    assert np.abs(values.exact["y"].astype(np.int64) - expected).max() <= 1
    assert (values.exact["y"] == expected).mean() > 0.5


def test_models_are_compared_node_by_node() -> None:
    found = compare_models(model(UNFUSED), model(FUSED))
    assert found.passed and found.nodes == 1
    wrong = model(FUSED.replace("float t = {4.0}", "float t = {2.0}"))
    found = compare_models(model(UNFUSED), wrong)
    assert not found.passed and "quanta apart" in found.beyond[0]
    assert found.outputs[0].unit == "quanta" and found.outputs[0].largest > 1


def test_cases_of_an_npz() -> None:
    one = np.zeros(1)
    assert set(cases_of({"x": one})) == {""}
    cases = cases_of({"a|x": one, "a|z": one, "b|x": one})
    assert {name: sorted(case) for name, case in cases.items()} == {"a": ["x", "z"], "b": ["x"]}


def test_idempotent() -> None:
    assert_idempotent(model(UNFUSED), "ort-cpu")
