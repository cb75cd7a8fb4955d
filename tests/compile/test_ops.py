"""Ops: alternatives, sets, slots, commuted operands, domains, attributes, per-op properties,
chains."""

from __future__ import annotations

import numpy as np
import pytest

from ..rules.graphs import MS, Builder, Grid
from .harness import check, rewritten

G = Grid("u8", 0.05, 10)
TABLE = """
ops table_op = Sigmoid | LeakyRelu

rule table "One rule for a family" {
    y = Q(op: table_op<*attrs>(DQ(x)))
    where x.type == u8, y.type == u8, per_tensor(x, y)
 => y = com.microsoft::QLinear{op}<*attrs>(x, x.scale, x.zero_point, y.scale, y.zero_point)
    within 1 quantum of y
}
"""


@pytest.mark.parametrize(
    ("op", "attributes", "made"),
    [
        ("Sigmoid", {}, {}),
        ("LeakyRelu", {"alpha": 0.25}, {"alpha": 0.25}),
        ("LeakyRelu", {}, {"alpha": 0.01}),
    ],
)
def test_an_op_set_in_pattern_and_template(
    op: str, attributes: dict[str, float], made: dict[str, float]
) -> None:
    b = Builder()
    v = b.node(op, [b.dq(b.input("x", "u8", (7,)), Grid("u8", [0.1], [3]))], **attributes)
    b.q(v, G, b.output("y", "u8"))
    result = check(TABLE, b.model(), {"table": 1}, quanta=1)
    found = result.attributes(f"QLinear{op}")
    # onnxruntime has a default of its own, 0.01 too: left out or written, it means the same.
    assert {name: pytest.approx(value) for name, value in (made | found).items()} == made
    assert result.constant(f"QLinear{op}", 1).shape == (), "scales of com.microsoft have rank 0"


def test_an_op_that_is_not_in_the_set() -> None:
    b = Builder()
    b.q(b.node("Tanh", [b.dq(b.input("x", "u8", (7,)), G)]), G, b.output("y", "u8"))
    check(TABLE, b.model(), {})


LABEL = """
ops keeping = Neg | Abs | Relu

rule twice "A label in the template is the matched op" {
    y = op: keeping(Identity(v))
    where op in {Neg, Abs}, op != Abs or v.type == f32
 => y = op(v)
    exact
}
"""


@pytest.mark.parametrize(("op", "fires"), [("Neg", True), ("Abs", True), ("Relu", False)])
def test_a_label_names_the_op(op: str, fires: bool) -> None:
    b = Builder()
    b.node(op, [b.node("Identity", [b.input("x", "f32", (3,))])], b.output("y", "f32"))
    result = check(LABEL, b.model(), {"twice": 1} if fires else {})
    assert result.count(op) == 1


COMMUTED = """
commutative ops both = Add | Mul

rule stated "Operands in either order" {
    y = Sub(Add~(Neg(a), b), b)
    where is_const(b)
 => y = Neg(a)
    within 1e-5 relative
}

rule by_set "The set says so" {
    y = op: both(Abs(a), Neg(b))
    where not is_const(a)
 => y = Neg(op(b, a))
    exact
}
"""


@pytest.mark.parametrize("swapped", [False, True])
def test_commuted_operands(swapped: bool) -> None:
    b = Builder()
    operands = [b.node("Neg", [b.input("x", "f32", (2,))]), b.constant((1.0, 2.0), "f32", "c")]
    v = b.node("Add", operands[::-1] if swapped else operands)
    b.node("Sub", [v, "c"], b.output("y", "f32"))
    check(COMMUTED, b.model(), {"stated": 1}, relative=1e-5)


@pytest.mark.parametrize("op", ["Add", "Mul"])
@pytest.mark.parametrize("swapped", [False, True])
def test_operands_of_a_commutative_set(op: str, swapped: bool) -> None:
    b = Builder()
    operands = [
        b.node("Abs", [b.input("x", "f32", (2,))]),
        b.node("Neg", [b.input("z", "f32", (2,))]),
    ]
    b.node(op, operands[::-1] if swapped else operands, b.output("y", "f32"))
    result = rewritten(COMMUTED, b.model())
    assert dict(result.fired) == {"by_set": 1} and list(result.node(op).input) == ["z", "x"]


DROP = """
rule drop "Both domains of the two quantizing ops" {
    y = Q(ai.onnx::Abs(Abs(DQ(x))))
    where same_grid(x, y)
 => y = Q(ai.onnx::Abs(DQ(x)))
    exact
}
"""


@pytest.mark.parametrize(
    ("domain", "type", "opset"), [("", "u8", 10), (MS, "u8", 19), (MS, "u16", 17), ("", "u16", 21)]
)
def test_quantizers_keep_their_domain(domain: str, type: str, opset: int) -> None:
    b, grid = Builder(opset, domain), Grid(type, 0.5, None if domain == "" and type == "u8" else 0)
    v = b.node("Abs", [b.node("Abs", [b.dq(b.input("x", type, (3,)), grid)])])
    b.q(v, grid, b.output("y", type))
    result = check(DROP, b.model(), {"drop": 1})
    wanted = MS if domain == MS else ""
    assert {each.domain for each in result.model.graph.node if each.op_type != "Abs"} == {wanted}


# ---- attributes --------------------------------------------------------------------------------

FLATTEN = """
rule flatten "An attribute of this value" {
    y = Flatten<axis = 1>(Abs(Abs(v)))
 => y = Flatten<axis = 1>(Abs(v))
    exact
}
"""


@pytest.mark.parametrize(("axis", "fires"), [(None, True), (1, True), (2, False), (0, False)])
def test_an_absent_attribute_is_its_default(axis: int | None, fires: bool) -> None:
    b = Builder()
    v = b.node("Abs", [b.node("Abs", [b.input("x", "f32", (2, 3, 4))])])
    b.node("Flatten", [v], b.output("y", "f32"), axis=axis)
    check(FLATTEN, b.model(), {"flatten": 1} if fires else {})


OVERRIDE = """
rule gemm "Some attributes are passed on, one is computed, one dropped" expands {
    y = op: Gemm<alpha = alpha, beta = _, *attrs>(a, b)
    where alpha == 1, op.beta == 3
 => y = Gemm<*attrs, alpha = 2 * alpha - 1, beta = 0.5>(a, b)
    exact
}
"""


def test_attributes_passed_on_and_overridden() -> None:
    b = Builder()
    operands = [b.input("a", "f32", (3, 2)), b.input("b", "f32", (4, 3))]
    b.node("Gemm", operands, b.output("y", "f32"), transA=1, transB=1, beta=3.0)
    result = check(OVERRIDE, b.model(), {"gemm": 1})
    assert result.attributes("Gemm") == {"transA": 1, "transB": 1, "beta": 0.5}


NULL = """
rule pool "An attribute without default may be absent" {
    y = AveragePool<dilations = d?, kernel_shape = k, *_>(Abs(Abs(v)))
    where d == 1, k == 2
 => y = AveragePool<dilations = d?, kernel_shape = k>(Abs(v))
    exact
}
"""


@pytest.mark.parametrize(("dilations", "fires"), [(None, True), ([1, 1], True), ([2, 2], False)])
def test_a_condition_on_an_absent_attribute_holds(dilations: list[int] | None, fires: bool) -> None:
    b = Builder(19)
    v = b.node("Abs", [b.node("Abs", [b.input("x", "f32", (1, 1, 6, 6))])])
    b.node("AveragePool", [v], b.output("y", "f32"), kernel_shape=[2, 2], dilations=dilations)
    result = check(NULL, b.model(), {"pool": 1} if fires else {})
    assert ("dilations" in result.attributes("AveragePool")) == (dilations is not None)


BORROWED = """
rule neg "What a borrowed node does not name must be at its default" {
    y = Abs(Neg(&Flatten(v)))
 => y = Abs(Flatten(v))
    exact
}
"""


@pytest.mark.parametrize(("axis", "fires"), [(None, True), (1, True), (2, False)])
def test_attributes_that_are_not_named(axis: int | None, fires: bool) -> None:
    b = Builder()
    f = b.node("Flatten", [b.input("x", "f32", (2, 3, 4))], axis=axis)
    b.node("Abs", [b.node("Neg", [f])], b.output("y", "f32"))
    check(BORROWED, b.model(), {"neg": 1} if fires else {})


PROPERTY = """
ops product = Conv | ConvTranspose | Gemm
property channel(op) = {Conv: 0, ConvTranspose: 1, Gemm: 1 - op.transB}

rule channels "A property of each op" {
    y = Abs(Abs(op: product<*attrs>(x, DQ(w))))
    where per_axis(w, channel(op))
 => y = Abs(op<*attrs>(x, DQ(w)))
    exact
}
"""


@pytest.mark.parametrize(
    ("op", "axis", "transposed", "fires"),
    [
        ("Conv", 0, None, True),
        ("Conv", 1, None, False),
        ("Conv", -4, None, True),
        ("ConvTranspose", 1, None, True),
        ("Gemm", 0, 1, True),
        ("Gemm", 0, 0, False),
        ("Gemm", 1, None, True),
    ],
)
def test_properties_of_ops(op: str, axis: int, transposed: int | None, fires: bool) -> None:
    b = Builder()
    shape, x = ((2, 2), (2, 2)) if op == "Gemm" else ((2, 2, 1, 1), (1, 2, 3, 3))
    weight = b.dq(b.constant(np.arange(4).reshape(shape), "i8"), Grid("i8", (0.1, 0.2), None, axis))
    v = b.node(op, [b.input("x", "f32", x), weight], transB=transposed)
    b.node("Abs", [b.node("Abs", [v])], b.output("y", "f32"))
    check(PROPERTY, b.model(), {"channels": 1} if fires else {})


# ---- chains ------------------------------------------------------------------------------------

CHAIN = """
ops moving = Reshape | Transpose | Flatten
ops clipping = Relu | Clip

rule move "Any number of ops that move elements, replayed on the codes" {
    y = Q(c: moving*(Abs(DQ(x))))
    where same_grid(x, y), x.zero_point == 0, x.type == u8
 => y = c(x)
    exact
}
"""


@pytest.mark.parametrize("ops", [(), ("Transpose",), ("Transpose", "Reshape", "Flatten")])
def test_chains(ops: tuple[str, ...]) -> None:
    b, grid = Builder(), Grid("u8", 0.5, 0)
    v = b.node("Abs", [b.dq(b.input("x", "u8", (2, 3)), grid)])
    for op in ops:
        if op == "Reshape":
            v = b.node(op, [v, b.constant([1, 6], "i64")])
        else:
            v = b.node(op, [v], **({"perm": [1, 0]} if op == "Transpose" else {"axis": 0}))
    b.q(v, grid, b.output("y", "u8"))
    result = check(CHAIN, b.model(), {"move": 1})
    assert [node.op_type for node in result.model.graph.node] == list(ops) or not ops
    assert result.count("Abs") == result.count("DequantizeLinear") == 0


def test_a_link_of_a_chain_has_no_other_consumer() -> None:
    b, grid = Builder(), Grid("u8", 0.5, 0)
    v = b.node("Transpose", [b.node("Abs", [b.dq(b.input("x", "u8", (2, 3)), grid)])], "t")
    b.output("t", "f32")
    b.q(b.node("Flatten", [v]), grid, b.output("y", "u8"))
    check(CHAIN, b.model(), {})


AT_LEAST_ONE = """
rule relus "At least one" {
    y = Neg(Relu+(Abs(v)))
 => y = Neg(Abs(v))
    exact
}
"""


@pytest.mark.parametrize(("count", "fires"), [(0, False), (1, True), (3, True)])
def test_a_chain_of_one_or_more(count: int, fires: bool) -> None:
    b = Builder()
    v = b.node("Abs", [b.input("x", "f32", (3,))])
    for _ in range(count):
        v = b.node("Relu", [v])
    b.node("Neg", [v], b.output("y", "f32"))
    check(AT_LEAST_ONE, b.model(), {"relus": 1} if fires else {})
