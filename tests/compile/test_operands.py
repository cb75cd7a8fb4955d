"""Optional operands, nodes and outputs; rests; repetition; absent operands in a template."""

from __future__ import annotations

import numpy as np
import pytest

from ..rules.graphs import MS, Builder, Grid
from .harness import check

G = Grid("u8", 0.05, 10)
CONV = """
rule conv "The bias may be absent" {
    y = Q(Conv<*attrs>(DQ(x), DQ(w), DQ(b)?))
    where x.type == u8, w.type == i8, y.type == u8, per_tensor(x, w, y),
          b.type == i32, b.zero_point == 0, close(b.scale, x.scale * w.scale)
 => y = QLinearConv<*attrs>(x, x.scale, x.zero_point, w, w.scale, w.zero_point,
                            y.scale, y.zero_point, b?)
    within 1 quantum of y
}
"""
W = np.arange(-9, 9).reshape(2, 1, 3, 3)


def conv(
    bias: str,
    scale: float = 0.05 * 0.02,
    x: Grid = G,
    empty: bool = False,
    zero_point: int | None = 0,
) -> Builder:
    b = Builder()
    operands = [
        b.dq(b.input("x", "u8", (1, 1, 5, 5)), x),
        b.dq(b.constant(W, "i8"), Grid("i8", 0.02, None)),
    ]
    if bias == "codes":
        operands.append(b.dq(b.constant((100, -100), "i32"), Grid("i32", scale, zero_point)))
    elif bias == "float":
        operands.append(b.constant((0.1, -0.1), "f32"))
    elif bias == "empty":
        operands.append("")
    b.q(b.node("Conv", operands, pads=[1, 1, 1, 1]), G, b.output("y", "u8"))
    return b


@pytest.mark.parametrize("bias", ["codes", "none", "empty"])
def test_an_optional_operand_is_there_or_not(bias: str) -> None:
    result = check(CONV, conv(bias).model(), {"conv": 1}, quanta=1)
    node = result.node("QLinearConv")
    assert len(node.input) == (9 if bias == "codes" else 8)
    assert result.attributes("QLinearConv") == {"pads": [1, 1, 1, 1]}


def test_an_optional_operand_of_another_form_is_no_match() -> None:
    check(CONV, conv("float").model(), {})


def test_conditions_on_an_optional_operand_count_where_it_is_there() -> None:
    check(CONV, conv("codes", scale=0.002).model(), {})
    check(CONV, conv("codes", zero_point=1).model(), {})
    check(CONV, conv("codes", zero_point=None).model(), {"conv": 1}, quanta=1)


def test_a_missing_zero_point_is_a_zero_of_the_type_of_its_tensor() -> None:
    result = check(CONV, conv("codes", x=Grid("u8", 0.05, None)).model(), {"conv": 1}, quanta=1)
    x, w = result.constant("QLinearConv", 2), result.constant("QLinearConv", 5)
    assert (x.dtype, x.shape, x) == (np.uint8, (), 0) and (w.dtype, w) == (np.int8, 0)


OPTIONAL_NODE = """
rule relu "A Relu may stand between" {
    y = Q(r: Relu?(Abs(DQ(x))))
    where same_grid(x, y), x.zero_point == 0
 => y = x
    exact
}
"""


@pytest.mark.parametrize(
    ("between", "fires"),
    [((), True), (("Relu",), True), (("Relu", "Relu"), False), (("Neg",), False)],
)
def test_an_optional_node(between: tuple[str, ...], fires: bool) -> None:
    b, grid = Builder(), Grid("u8", 0.05, None)
    v = b.node("Abs", [b.dq(b.input("x", "u8", (3,)), grid)])
    for op in between:
        v = b.node(op, [v])
    b.q(v, grid, b.output("y", "u8"))
    check(OPTIONAL_NODE, b.model(), {"relu": 1} if fires else {})


REST = """
rule slice "Operands behind the first are passed on" {
    y = Slice(Abs(Abs(v)), *rest)
 => y = Slice(Abs(v), *rest)
    exact
}
"""


@pytest.mark.parametrize("steps", [False, True])
def test_the_rest_of_the_operands(steps: bool) -> None:
    b = Builder()
    v = b.node("Abs", [b.node("Abs", [b.input("x", "f32", (6, 4))])])
    operands = [v, b.constant([1], "i64"), b.constant([5], "i64"), b.constant([0], "i64")]
    if steps:
        operands.append(b.constant([2], "i64"))
    b.node("Slice", operands, b.output("y", "f32"))
    result = check(REST, b.model(), {"slice": 1})
    assert len(result.node("Slice").input) == len(operands)


CONCAT = """
rule concat "Any number of operands" {
    y = Q(Concat<*attrs>(DQ(x)...))
    where x.type == u8, y.type == u8, per_tensor(x), per_tensor(y)
 => y = com.microsoft::QLinearConcat<*attrs>(y.scale, y.zero_point, (x, x.scale, x.zero_point)...)
    within 1 quantum of y
}
"""


@pytest.mark.parametrize("parts", [("a",), ("a", "b", "c"), ("a", "b", "a")])
def test_repeated_operands(parts: tuple[str, ...]) -> None:
    b = Builder()
    for name in dict.fromkeys(parts):
        b.input(name, "u8", (2, 3))
    grids = {"a": G, "b": Grid("u8", [0.1], [3]), "c": Grid("u8", 0.02, None)}
    v = b.node("Concat", [b.dq(name, grids[name]) for name in parts], axis=-1)
    b.q(v, G, b.output("y", "u8"))
    result = check(CONCAT, b.model(), {"concat": 1}, quanta=1)
    node = result.node("QLinearConcat")
    assert list(node.input[2::3]) == list(parts)
    assert all(result.content(name).shape == () for name in node.input[3::3])
    assert result.attributes("QLinearConcat") == {"axis": -1}


def test_a_condition_on_a_list_holds_for_every_element() -> None:
    b = Builder()
    parts = [b.dq(b.input("a", "u8", (2,)), G), b.dq(b.input("b", "i8", (2,)), Grid("i8", 0.1, 0))]
    b.q(b.node("Concat", parts, axis=0), G, b.output("y", "u8"))
    check(CONCAT, b.model(), {})


def test_every_element_has_the_pattern() -> None:
    b = Builder()
    parts = [b.dq(b.input("a", "u8", (2,)), G), b.input("b", "f32", (2,))]
    b.q(b.node("Concat", parts, axis=0), G, b.output("y", "u8"))
    check(CONCAT, b.model(), {})


REPEATED_OWNED = """
rule max "Owned elements may stand twice" {
    y = Max(Abs(Abs(v))...)
 => y = Max(Abs(v)...)
    exact
}
"""


def test_repeated_nodes_in_a_template() -> None:
    b = Builder()
    first, second = (b.node("Abs", [b.node("Abs", [b.input(n, "f32", (2,))])]) for n in ("a", "b"))
    b.node("Max", [first, second, first], b.output("y", "f32"))
    result = check(REPEATED_OWNED, b.model(), {"max": 1})
    assert len(result.node("Max").input) == 3


def test_an_owned_element_used_elsewhere_stays() -> None:
    b = Builder()
    first, second = (b.node("Abs", [b.node("Abs", [b.input(n, "f32", (2,))])]) for n in ("a", "b"))
    b.node("Max", [first, second], b.output("y", "f32"))
    b.node("Neg", [second], b.output("z", "f32"))
    check(REPEATED_OWNED, b.model(), {})


SPLIT = """
rule split "Every output is quantized" {
    part... = Split<*attrs>(DQ(x), sizes?)
    y... = Q(part)...
    where same_grid(x, y)
 => y... = Split<*attrs>(x, sizes?)
    exact
}
"""


def split(grids: tuple[Grid, ...], sizes: bool = True, extra: bool = False) -> Builder:
    b = Builder(17)
    operands = [b.dq(b.input("x", "u8", (6, 2)), G)]
    if sizes:
        operands.append(b.constant([6 - len(grids) + 1] + [1] * (len(grids) - 1), "i64"))
    parts = [f"part{index}" for index in range(len(grids))]
    b.node("Split", operands, parts, axis=0)
    for index, (part, grid) in enumerate(zip(parts, grids, strict=True)):
        b.q(part, grid, b.output(f"y{index}", "u8"))
    if extra:
        b.node("Neg", [parts[0]], b.output("z", "f32"))
    return b


@pytest.mark.parametrize("sizes", [True, False])
def test_a_list_of_outputs(sizes: bool) -> None:
    result = check(SPLIT, split((G, G, Grid("u8", [0.05], [10])), sizes).model(), {"split": 1})
    assert list(result.node("Split").output) == ["y0", "y1", "y2"]


def test_one_output_on_another_grid() -> None:
    check(SPLIT, split((G, Grid("u8", 0.06, 10))).model(), {})


def test_one_output_used_elsewhere() -> None:
    check(SPLIT, split((G, G), extra=True).model(), {})


GROUP = """
rule concat_back "Operands that repeat in groups" expands {
    y = com.microsoft::QLinearConcat<*attrs>(s, z, (x, xs, xz)...)
    where is_const(xs), is_const(xz)
 => y = QuantizeLinear(Concat<*attrs>(DequantizeLinear(x, xs, xz)...), s, z)
    within 1 quantum of y
}
"""


def test_groups_of_operands() -> None:
    b = Builder()
    operands = [b.constant(0.05, "f32"), b.constant(3, "u8")]
    for name, scale in (("a", 0.1), ("b", 0.2)):
        operands += [b.input(name, "u8", (2, 2)), b.constant(scale, "f32"), b.constant(7, "u8")]
    b.node(f"{MS}::QLinearConcat", operands, b.output("y", "u8", (2, 4)), axis=1)
    result = check(GROUP, b.model(), {"concat_back": 1}, quanta=1)
    assert result.count("DequantizeLinear") == 2


TWO_OUTPUTS = """
rule dropout "Outputs have names; what is not named must not be used" {
    y, mask? = Dropout<*_>(v)
    where not present(mask)
 => y = v
    exact
}
"""


@pytest.mark.parametrize("used", [False, True])
def test_optional_outputs(used: bool) -> None:
    b = Builder(17)
    v = b.node("Abs", [b.input("x", "f32", (2,))])
    b.node("Dropout", [v], ["d", "mask"])
    b.node("Neg", ["d"], b.output("y", "f32"))
    if used:
        b.node("Not", ["mask"], b.output("z", "bool"))
    check(TWO_OUTPUTS, b.model(), {} if used else {"dropout": 1})


GEMM = """
rule gemm "With a quantizer behind it the result is integer, else float" {
    y = Q?(Gemm<alpha = alpha, beta = 1, transA = 0, transB = 0>(DQ(a), DQ(b)))
    where a.type == u8, b.type == u8, y.type in {u8, f32}, per_tensor(a, b), per_tensor(y),
          a.scale < 1
 => y = com.microsoft::QGemm<alpha = alpha>(a, a.scale, a.zero_point, b, b.scale, b.zero_point,
                                            none, y.scale?, y.zero_point?)
    within 1 quantum of y
}
"""


@pytest.mark.parametrize(("quantized", "used"), [(True, False), (False, False), (True, True)])
def test_an_optional_root(quantized: bool, used: bool) -> None:
    """With another consumer the quantizer cannot be taken in, and the float form is left."""
    b = Builder()
    a = b.dq(b.input("a", "u8", (2, 3)), G)
    weight = b.dq(b.constant(np.arange(6).reshape(3, 2), "u8"), Grid("u8", 0.1, 2))
    v = b.node("Gemm", [a, weight], "" if quantized else b.output("y", "f32"), alpha=0.5)
    if quantized:
        b.q(v, G, b.output("y", "u8"))
    if used:
        b.node("Neg", [v], b.output("z", "f32"))
    result = check(GEMM, b.model(), {"gemm": 1}, quanta=1)
    assert len(result.node("QGemm").input) == (9 if quantized and not used else 6)
    assert result.attributes("QGemm") == {"alpha": 0.5}


TWICE = """
rule rectified "A tensor beside itself, read by one DQ or two" {
    y = Max(DQ(x), Relu(DQ(x)))
 => y = Relu(DQ(x))
    within 1e-6 relative
}
"""


@pytest.mark.parametrize(
    ("first", "second", "fires"),
    [
        (G, None, True),
        (G, G, True),
        (G, Grid("u8", 0.05, 11), False),
        (Grid("u8", [0.1, 0.2], 3, 1), Grid("u8", [0.1, 0.2], 3, 1), True),
        (Grid("u8", [0.1, 0.2], 3, 1), Grid("u8", [0.1, 0.2], 3, -1), True),
        (Grid("u8", [0.1, 0.2], 3, 1), Grid("u8", [0.1, 0.2], 3, 0), False),
    ],
)
def test_one_tensor_in_two_places(first: Grid, second: Grid | None, fires: bool) -> None:
    b = Builder()
    a = b.dq(b.input("x", "u8", (2, 2)), first)
    c = a if second is None else b.dq("x", second)
    b.node("Max", [a, b.node("Relu", [c])], b.output("y", "f32"))
    check(TWICE, b.model(), {"rectified": 1} if fires else {})
