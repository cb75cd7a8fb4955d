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


HALVES = """
g (uint8[2, 8] a, bool c) => (uint8[2, 3] y)
<float s = {{0.1}}, uint8 z = {{3}}, int8[8, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, float t = {{0.4}}, int8 o = {{0}}> {{
    y = If (c) <then_branch = t_graph () => (uint8[2, 3] one) {{ {then} }},
                else_branch = e_graph () => (uint8[2, 3] two) {{
                    two = QLinearMatMul(a, s, z, w, s, o, t, z) }}>
}}
"""
WHOLE = """p = DequantizeLinear(a, s, z) q = DequantizeLinear(w, s, o) m = MatMul(p, q)
one = QuantizeLinear(m, t, z)"""
CODES = "one = QLinearMatMul(a, s, z, w, s, o, {scale}, z)"


@pytest.mark.parametrize(("scale", "passes"), [("t", True), ("s", False)])
def test_nodes_of_the_branch_that_is_taken_are_judged(scale: str, passes: bool) -> None:
    before = model(HALVES.format(then=WHOLE))
    after = model(HALVES.format(then=CODES.format(scale=scale)))
    inputs = [{"a": np.arange(16, dtype=np.uint8).reshape(2, 8), "c": np.array(True)}]
    found = compare_models(before, after, inputs)
    assert found.nodes == 1 and found.passed is passes
    not_taken = compare_models(before, after, [{**inputs[0], "c": np.array(False)}])
    assert not_taken.nodes == 0 and not_taken.passed


SCAN = """
g (float[2] start, float[5, 2] xs) => (float[2] last, float[5, 2] ys)
<float s = {{0.1}}, uint8 z = {{100}}> {{
    last, ys = Scan <num_scan_inputs = 1,
    body = step (float[2] h, float[2] x) => (float[2] n, float[2] y)
    {{ {body} n = Identity(y) }}> (start, xs)
}}
"""


@pytest.mark.parametrize(("zero", "passes"), [("z", True), ("", False)])
def test_nodes_of_a_scan_are_judged(zero: str, passes: bool) -> None:
    body = "v = Add(h, x) q = QuantizeLinear(v, s, z) y = DequantizeLinear(q, s, {})"
    inputs = [{"start": np.ones(2, np.float32), "xs": np.ones((5, 2), np.float32)}]
    before = model(SCAN.format(body=body.format("z")))
    after = model(SCAN.format(body=body.format(zero)))
    found = compare_models(before, after, inputs)
    assert found.passed is passes


def test_what_stands_between_new_nodes_is_computed() -> None:
    text = FUSED.replace("y = QLinearMatMul", "k = QLinearMatMul").replace(
        "t, z)\n}", "t, z)\n y = Add(k, OTHER)\n}"
    )
    for addend, passes in (("n", True), ("z", False)):
        after = model(text.replace("OTHER", addend).replace("> {", ", uint8 n = {0}> {", 1))
        found = compare_models(model(UNFUSED), after)
        assert found.nodes == 1 and found.passed is passes


def test_cases_of_an_npz() -> None:
    one = np.zeros(1)
    assert set(cases_of({"x": one})) == {""}
    cases = cases_of({"a|x": one, "a|z": one, "b|x": one})
    assert {name: sorted(case) for name, case in cases.items()} == {"a": ["x", "z"], "b": ["x"]}


def test_idempotent() -> None:
    assert_idempotent(model(UNFUSED), "ort-cpu")
