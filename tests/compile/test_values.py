"""What ``let`` computes: constants, quantized tensors, parts, lists, conditionals; comparing
codes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from ..rules.graphs import MS, Builder, Grid
from .harness import check, rewritten

G = Grid("u8", 0.05, 10)
WEIGHT = """
rule conv "Plain fusion" {
    y = Q(Conv<*attrs>(DQ(x), DQ(w)))
    where x.type == u8, w.type == i8, y.type == u8, per_tensor(x, y)
 => y = QLinearConv<*attrs>(x, x.scale, x.zero_point, w, w.scale, w.zero_point,
                            y.scale, y.zero_point)
    within 1 quantum of y
}

rule weight "A float weight is quantized, if the rule above then fires" {
    y = Q(Conv<*attrs>(DQ(x), w, *rest))
    where is_const(w), w.type == f32
    let q = quantize_symmetric(w, i8, axis = 0)
 => y = Q(Conv<*attrs>(DQ(x), DQ(q), *rest))
    lossy within 0.5 quanta of q
    then conv
}
"""


def conv(weight: np.ndarray, bias: bool = False, y: Grid = G) -> Builder:
    b = Builder()
    operands = [b.dq(b.input("x", "u8", (1, 2, 4, 4)), G), b.constant(weight, "f32", "weight")]
    if bias:
        operands.append(b.constant((1.0, 2.0), "f32"))
    b.q(b.node("Conv", operands), y, b.output("y", y.type))
    return b


def test_a_weight_is_quantized_and_the_rule_after_it_fires() -> None:
    weight = np.array([0.5, -1.27, 0.25, 0.0]).reshape(2, 2, 1, 1)
    result = rewritten(WEIGHT, conv(weight).model())
    assert dict(result.fired) == {"weight": 1, "conv": 1}
    node = result.node("QLinearConv")
    assert list(node.input[3:6]) == ["weight_q", "weight_q_scale", "weight_q_zero_point"]
    scale = np.array([1.27 / 127, 0.25 / 127], np.float32)
    np.testing.assert_array_equal(result.constant("QLinearConv", 3).ravel(), [50, -127, 127, 0])
    np.testing.assert_allclose(result.constant("QLinearConv", 4), scale, rtol=1e-6)
    assert "weight" not in {each.name for each in result.model.graph.initializer}


def test_where_no_rule_takes_the_result_nothing_changes() -> None:
    weight = np.ones((2, 2, 1, 1))
    check(WEIGHT, conv(weight, bias=True).model(), {})
    check(WEIGHT, conv(weight, y=Grid("i8", 0.1, 0)).model(), {})


def test_a_let_without_a_value_does_not_fire() -> None:
    assert not rewritten(WEIGHT, conv(np.full((2, 2, 1, 1), np.nan)).model()).fired


def test_two_matches_share_equal_constants_and_no_others() -> None:
    b = Builder()
    for index, factor in enumerate((1.0, 1.0, 2.0)):
        x = b.dq(b.input(f"x{index}", "u8", (1, 2, 4, 4)), G)
        w = b.constant(np.full((2, 2, 1, 1), factor), "f32", f"w{index}")
        b.q(b.node("Conv", [x, w]), G, b.output(f"y{index}", "u8"))
    result = rewritten(WEIGHT, b.model())
    nodes = [node for node in result.model.graph.node if node.op_type == "QLinearConv"]
    assert nodes[0].input[4] == nodes[1].input[4] != nodes[2].input[4]


def computed(
    expression: str, value: np.ndarray, type: str = "f32", made: str = "f32"
) -> np.ndarray:
    """What an expression over a constant ``c`` yields."""
    rule = f"""
    rule compute "A constant" {{
        y = Mul(Neg(x), c)
        where is_const(c)
        let d = {expression}
     => y = Mul(x, d)
        exact
    }}
    """
    b = Builder()
    b.node(
        "Mul",
        [b.node("Neg", [b.input("x", made, None)]), b.constant(value, type, "c")],
        b.output("y", made),
    )
    result = rewritten(rule, b.model())
    assert dict(result.fired) == {"compute": 1}
    return result.constant("Mul", 1)


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("c * 2", [1.5, 2.5], [3.0, 5.0]),
        ("-c", [1.5, 2.5], [-1.5, -2.5]),
        ("1 - c / 4", [1.0, 2.0], [0.75, 0.5]),
        ("sqrt(c)", [4.0, 2.25], [2.0, 1.5]),
        ("round_even(c)", [0.5, 1.5], [0.0, 2.0]),
        ("abs(c)", [-1.0, 2.0], [1.0, 2.0]),
        ("reshape(c, [size(c), 1])", [1.0, 2.0], [[1.0], [2.0]]),
        ("reshape(c, shape(c) + [1])", [1.0, 2.0], [[1.0], [2.0]]),
        ("transpose(reshape(c, [1, 2]), [1, 0])", [1.0, 2.0], [[1.0], [2.0]]),
        ("squeeze(reshape(c, [1, 2, 1]), [0, 2])", [1.0, 2.0], [1.0, 2.0]),
        ("concat([c, c * 2], 0)", [1.0, 2.0], [1.0, 2.0, 2.0, 4.0]),
        ("full([2] + [1], 3, f32)", [1.0, 2.0], [[3.0], [3.0]]),
        ("constant(axes_of([-1, 0], 3), f32)", [1.0, 2.0], [0.0, 2.0]),
        ("cast(range(1, dim(c, 0) + 1), f32)", [7.0, 7.0], [1.0, 2.0]),
        ("constant([1, 2], f32)", [7.0], [1.0, 2.0]),
        ("c * shape(c)[0]", [1.0, 2.0], [2.0, 4.0]),
        ("c if rank(c) == 1 else c * 2", [1.0], [1.0]),
        ("c if rank(c) == 2 else c * 2", [1.0], [2.0]),
    ],
)
def test_computed_constants(expression: str, value: list[float], expected: list[float]) -> None:
    found = computed(expression, np.array(value))
    np.testing.assert_array_equal(found, np.array(expected, np.float32))
    assert found.dtype == np.float32


def test_float32_is_rounded_once_an_operation() -> None:
    """0.1 * 3 in float32 is not what float64 gives, rounded at the end."""
    value = np.array([0.1, 1e20], np.float32)
    with np.errstate(over="ignore"):
        cube = value * value * value
    np.testing.assert_array_equal(computed("c * c * c", value), cube)
    np.testing.assert_array_equal(
        computed("c / 3 * 3", value), value / np.float32(3) * np.float32(3)
    )


def test_integers_do_not_wrap() -> None:
    b = Builder()
    b.node(
        "Concat",
        [b.input("x", "i32", (2,)), b.constant((200, 100), "i32", "c")],
        b.output("y", "i32"),
        axis=0,
    )
    rule = """
    rule compute "Integers are exact, and a cast that does not fit has no value" expands {{
        y = Concat<*attrs>(x, c)
        where is_const(c), max(c) == 200
        let d = cast(cast(c, u8) * 2, {type})
     => y = Concat<*attrs>(x, d)
        exact
    }}
    """
    result = rewritten(rule.format(type="i32"), b.model())
    np.testing.assert_array_equal(result.constant("Concat", 1), [400, 200])
    assert not rewritten(rule.format(type="u8"), b.model()).fired


def test_chained_lets_and_conditions_on_them() -> None:
    rule = """
    rule merge "A where behind a let may use it" {
        y = Mul(Mul(x, a), b)
        where is_const(a), is_const(b)
        let c = a * b
        where finite(c)
        let d = c * 1, e = d
     => y = Mul(x, e)
        within 1e-5 relative
    }
    """
    for factor, fires in ((2.0, True), (1e30, False)):
        b = Builder()
        v = b.node("Mul", [b.input("x", "f32", (2,)), b.constant(factor, "f32")])
        b.node("Mul", [v, b.constant(factor, "f32")], b.output("y", "f32"))
        check(rule, b.model(), {"merge": 1} if fires else {}, relative=1e-5)


# ---- quantized tensors -------------------------------------------------------------------------

RECODE = """
rule recode "int8 codes become uint8 codes of the same values" expands {
    y = MatMul(DQ(x), DQ(w))
    where w.type == i8, is_const(w)
    let u = recode(w, u8)
 => y = MatMul(DQ(x), DQ(u))
    exact
}
"""


@pytest.mark.parametrize("zero_point", [None, 3, -128])
def test_codes_of_the_other_sign(zero_point: int | None) -> None:
    b = Builder()
    codes = np.array([[-128, 127], [0, 5]])
    operands = [
        b.dq(b.input("x", "u8", (2, 2)), G),
        b.dq(
            b.constant(codes, "i8"),
            Grid("i8", (0.5, 2.0), None if zero_point is None else (zero_point, 1), 1),
        ),
    ]
    b.node("MatMul", operands, b.output("y", "f32"))
    result = check(RECODE, b.model(), {"recode": 1})
    [made] = [
        n for n in result.model.graph.node if n.op_type == "DequantizeLinear" and n.input[0] != "x"
    ]
    np.testing.assert_array_equal(result.content(made.input[0]), codes + 128)
    first = 128 if zero_point is None else zero_point + 128
    assert result.content(made.input[2])[0] == first


PARTS = """
rule scaled "A copy with another scale; a tensor made of its parts" {
    y = Mul(DQ(x), c)
    where is_const(c), c.type == f32, size(c) == 1, rank(c) == 0, positive(c), per_tensor(x)
    let s = x.scale * c, z = x with {scale = s}
 => y = DQ(z)
    within 1e-5 relative
}
"""


def test_a_graph_value_with_another_scale() -> None:
    b = Builder()
    b.node("Mul", [b.dq(b.input("x", "u8", (4,)), G), b.constant(0.5, "f32")], b.output("y", "f32"))
    result = check(PARTS, b.model(), {"scaled": 1}, relative=1e-5)
    node = result.node("DequantizeLinear")
    assert node.input[0] == "x" and result.content(node.input[1]) == np.float32(0.05) * np.float32(
        0.5
    )


BIAS = """
rule bias "The bias gets the scale of the products" {
    y = Gemm<*attrs>(DQ(x), DQ(w), b)
    where is_const(b), b.type == f32, rank(b) == 1, per_tensor(x, w)
    let c = quantize_bias(b, x.scale * w.scale)
 => y = Gemm<*attrs>(DQ(x), DQ(w), DQ(c))
    lossy within 0.5 quanta of c
}
"""


def gemm(bias: tuple[float, ...]) -> Builder:
    b = Builder()
    operands = [b.dq(b.input("x", "u8", (2, 2)), Grid("u8", 0.5, 0))]
    operands.append(b.dq(b.constant([[1, 2], [3, 4]], "i8"), Grid("i8", 0.25, 0)))
    b.node("Gemm", [*operands, b.constant(bias, "f32", "b")], b.output("y", "f32"))
    return b


def test_a_bias_is_rounded_half_to_even() -> None:
    result = rewritten(BIAS, gemm((0.0625, 0.1875)).model())
    assert dict(result.fired) == {"bias": 1}
    np.testing.assert_array_equal(result.content("b_c"), np.array([0, 2], np.int32))


def test_a_bias_that_does_not_fit() -> None:
    assert not rewritten(BIAS, gemm((1e9, 0.0)).model()).fired


def test_quantize_like_is_what_quantize_linear_gives() -> None:
    rule = """
    rule fold "A quantized constant" {
        y = Q(c)
        where is_const(c)
        let q = quantize_like(c, y)
     => y = q
        exact
    }
    """
    values = np.linspace(-2, 12, 57, dtype=np.float32)
    b = Builder()
    b.node(
        "Add",
        [b.q(b.constant(values, "f32"), Grid("u8", 0.1, 5)), b.input("x", "u8", (57,))],
        b.output("y", "u8"),
    )
    before = ReferenceEvaluator(b.model()).run(None, {"x": np.zeros(57, np.uint8)})[0]
    result = rewritten(rule, b.model())
    assert result.count("QuantizeLinear") == 0
    np.testing.assert_array_equal(result.constant("Add", 0), before)


def test_an_absent_capture_in_a_let_leaves_its_operand_out() -> None:
    rule = """
    rule clip "The bounds are halved" expands {
        y = Clip<*_>(Mul(x, 2), low?, high?)
        let l = low / 2, h = high / 2
     => y = Mul(Clip(x, l?, h?), t)
        exact
    }
    """
    rule = rule.replace("let l", "let t = constant(2.0, f32), l")
    for bounds in (("low", "high"), ("low",), ("", "high"), ()):
        b = Builder()
        two = b.constant(2.0, "f32", "two")
        v = b.node("Mul", [b.input("x", "f32", (5,)), two])
        names = [
            b.constant({"low": -1.0, "high": 1.5}[name], "f32", name) if name else ""
            for name in bounds
        ]
        b.node("Clip", [v, *names], b.output("y", "f32"))
        result = check(rule, b.model(), {"clip": 1})
        assert [bool(name) for name in result.node("Clip").input[1:]] == [
            bool(name) for name in bounds
        ]


# ---- comparing codes ---------------------------------------------------------------------------

AFFINE = """
rule affine "A product with a constant is a requantization, if no code moves" {
    y = Q(Mul(DQ(x), c))
    where is_const(c), c.type == f32, size(c) == 1, rank(c) == 0, per_tensor(x, y), x.type == u8
    let s = x.scale * c, z = x with {scale = s}
 => y = Q(DQ(z))
    exact
    compare codes of x
}
"""


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0, 0.7, 0.35, 1.4])
def test_both_sides_are_compared_over_all_codes(factor: float) -> None:
    """By a power of two no code moves; else it depends on the roundings of 256 products."""
    b = Builder()
    v = b.node(
        "Mul", [b.dq(b.input("x", "u8", (256,)), Grid("u8", 0.1, 0)), b.constant(factor, "f32")]
    )
    b.q(v, Grid("u8", 0.07, 0), b.output("y", "u8"))
    result = rewritten(AFFINE, b.model())
    x = np.arange(256, dtype=np.float32)
    one = np.rint(x * np.float32(0.1) * np.float32(factor) / np.float32(0.07))
    other = np.rint(x * (np.float32(0.1) * np.float32(factor)) / np.float32(0.07))
    assert bool(result.fired) == bool((np.clip(one, 0, 255) == np.clip(other, 0, 255)).all())
    assert result.fired or factor not in (0.5, 2.0)


def test_some_codes_do_move() -> None:
    """Otherwise the test above could not tell."""
    fired = []
    for factor in np.linspace(0.31, 1.9, 12):
        b = Builder()
        v = b.node(
            "Mul", [b.dq(b.input("x", "u8", (8,)), Grid("u8", 0.1, 0)), b.constant(factor, "f32")]
        )
        b.q(v, Grid("u8", 0.04, 0), b.output("y", "u8"))
        fired.append(bool(rewritten(AFFINE, b.model()).fired))
    assert True in fired and False in fired


# ---- connected sets ----------------------------------------------------------------------------

CONNECTED = """
ops moving = Transpose | MaxPool | Concat

rule to_uint8 "int8 activations become uint8 as a whole" expands {
    y = Q(v)
    connected t from y through moving
    where y.type == i8
 => t = recode(t, u8)
    exact
}
"""


def chain(domain: str = "", zero_point: int | None = 3, **outputs: bool) -> Builder:
    """x -> Q -> Transpose -> MaxPool -> DQ -> y, and a second DQ behind Transpose."""
    b, grid = Builder(19, domain), Grid("i8", 0.1, zero_point)
    if zero_point is None:
        b = Builder(21)
    kind = None if zero_point is not None else 3
    codes = b.q(b.node("Abs", [b.input("x", "f32", (1, 2, 4, 4))]), grid, output_dtype=kind)
    t = b.node(
        "Transpose", [codes], b.output("t", "i8") if outputs.get("t") else "", perm=[0, 1, 3, 2]
    )
    b.node("Neg", [b.dq(t, grid)], b.output("z", "f32"))
    m = b.node("MaxPool", [t], kernel_shape=[2, 2], pads=[1, 1, 1, 1])
    if outputs.get("other"):
        b.node("Sign", [m], b.output("s", "i8"))
    b.node("Neg", [b.dq(m, grid)], b.output("y", "f32"))
    return b


@pytest.mark.parametrize(("domain", "zero_point"), [("", 3), (MS, 3), ("", None)])
def test_a_connected_set_changes_its_type_together(domain: str, zero_point: int | None) -> None:
    result = check(CONNECTED, chain(domain, zero_point).model(), {"to_uint8": 1})
    zeros = {
        result.content(n.input[2]).dtype
        for n in result.model.graph.node
        if n.op_type.endswith("Linear")
    }
    assert zeros == {np.dtype(np.uint8)}


@pytest.mark.parametrize("member", ["t", "other"])
def test_a_set_with_a_pinned_member_stays(member: str) -> None:
    """A graph output keeps its type; an op that is not named might compute with the codes."""
    check(CONNECTED, chain(**{member: True}).model(), {})


def test_a_set_with_constants() -> None:
    b, grid = Builder(), Grid("i8", 0.1, 3)
    codes = b.q(b.input("x", "f32", (2, 3)), grid)
    joined = b.node("Concat", [codes, b.constant([[-128, 0, 127]], "i8")], axis=0)
    b.node("Neg", [b.dq(joined, grid)], b.output("y", "f32"))
    result = check(CONNECTED, b.model(), {"to_uint8": 1})
    np.testing.assert_array_equal(result.constant("Concat", 1), [[0, 128, 255]])


def test_a_set_that_reaches_a_graph_input_stays() -> None:
    b, grid = Builder(), Grid("i8", 0.1, 3)
    codes = b.q(b.input("x", "f32", (2, 3)), grid)
    joined = b.node("Concat", [codes, b.input("w", "i8", (1, 3))], axis=0)
    b.node("Neg", [b.dq(joined, grid)], b.output("y", "f32"))
    check(CONNECTED, b.model(), {})


def test_a_set_with_a_zero_point_that_is_no_constant_stays() -> None:
    b = Builder()
    z = b.input("z", "i8", ())
    scale = b.constant(0.1, "f32")
    q = b.node("QuantizeLinear", [b.input("x", "f32", (3,)), scale, z])
    b.node("DequantizeLinear", [q, scale, z], b.output("y", "f32"))
    check(CONNECTED, b.model(), {})
