"""Captures, equality of values and constants, fragments and their hygiene."""

from __future__ import annotations

import pytest

from ..rules.graphs import Builder, Grid
from .harness import check

SQUARE = """
rule square "x * x is x ** 2" expands {
    y = Mul(x, x)
    where x.type == f32
    let two = constant(2.0, f32)
 => y = Pow(x, two)
    within 1e-6 relative
}
"""


def test_one_name_twice_is_one_value() -> None:
    b = Builder()
    x = b.input("x", "f32", (2, 3))
    b.node("Mul", [x, x], b.output("y", "f32"))
    result = check(SQUARE, b.model(), {"square": 1})
    assert result.count("Pow") == 1 and result.constant("Pow", 1) == 2


def test_two_values_are_not_one() -> None:
    b = Builder()
    b.node("Mul", [b.input("x", "f32", (2, 3)), b.input("z", "f32", (2, 3))], b.output("y", "f32"))
    check(SQUARE, b.model(), {})


SAME_CONSTANT = """
rule merge "x * c + c * x is x * c * 2, where both constants are one" {
    y = Add(Mul(x, c), Mul(c, x))
    where is_const(c), c.type == f32
    let d = c * 2
 => y = Mul(x, d)
    within 1e-5 relative
}
"""


@pytest.mark.parametrize(
    ("other", "fires"), [((0.3, 0.7), True), ((0.3, 0.70001), False), ((0.3,), False)]
)
def test_constants_are_equal_by_content(other: tuple[float, ...], fires: bool) -> None:
    """Exporters write one initializer a use."""
    b = Builder()
    x = b.input("x", "f32", (4, 2))
    first = b.node("Mul", [x, b.constant((0.3, 0.7), "f32")])
    second = b.node("Mul", [b.constant(other, "f32"), x])
    b.node("Add", [first, second], b.output("y", "f32"))
    check(SAME_CONSTANT, b.model(), {"merge": 1} if fires else {})


def test_a_constant_that_an_input_overrides_equals_nothing() -> None:
    b = Builder()
    x = b.input("x", "f32", (4, 2))
    first = b.node("Mul", [x, b.constant((0.3, 0.7), "f32")])
    second = b.node("Mul", [b.constant((0.3, 0.7), "f32", "c"), x])
    b.input("c", "f32", (2,))
    b.node("Add", [first, second], b.output("y", "f32"))
    check(SAME_CONSTANT, b.model(), {})


HYGIENE = """
pattern Scaled(v) = Mul(v, c) where is_const(c), c.type == f32

rule sum "Two scaled values, each by a constant of its own" {
    y = Add(Scaled(a), Scaled(b))
    where use_count(a) == 1
 => y = Sub(a, b)
    exact
}
"""


def test_names_of_a_fragment_belong_to_one_use_of_it() -> None:
    """With one ``c`` for both uses this graph would not match.  (The rule is wrong on purpose.)"""
    from .harness import rewritten

    b = Builder()
    left = b.node("Mul", [b.input("x", "f32", (2,)), b.constant((1.0, 2.0), "f32")])
    right = b.node("Mul", [b.input("z", "f32", (2,)), b.constant((3.0, 4.0), "f32")])
    b.node("Add", [left, right], b.output("y", "f32"))
    result = rewritten(HYGIENE, b.model())
    assert list(result.node("Sub").input) == ["x", "z"]


ALTERNATIVES = """
pattern Doubled(v) = Add(v, v) | Mul(v, 2)

rule double "The result of a fragment is what its rule calls it" {
    y = Neg(Doubled(x))
    let two = constant(-2.0, f32)
 => y = Mul(x, two)
    exact
}
"""


@pytest.mark.parametrize("way", ["add", "mul", "three"])
def test_a_fragment_has_alternatives(way: str) -> None:
    b = Builder()
    x = b.input("x", "f32", (3,))
    factor = b.constant(3.0 if way == "three" else 2.0, "f32")
    v = b.node("Add", [x, x]) if way == "add" else b.node("Mul", [x, factor])
    b.node("Neg", [v], b.output("y", "f32"))
    check(ALTERNATIVES, b.model(), {} if way == "three" else {"double": 1})


GUARDS = """
guard narrow(t, limit) = t.type in {u8, i8}, per_tensor(t), not t.scale > limit

rule drop "A guard has parameters" {
    y = Q(Neg(Neg(DQ(x))))
    where narrow(x, 0.5), same_grid(x, y)
 => y = Identity(x)
    exact
}
"""


@pytest.mark.parametrize(("scale", "fires"), [(0.25, True), (0.5, True), (0.75, False)])
def test_guards_take_arguments(scale: float, fires: bool) -> None:
    b, grid = Builder(), Grid("u8", scale, 3)
    v = b.dq(b.input("x", "u8", (5,)), grid)
    b.q(b.node("Neg", [b.node("Neg", [v])]), grid, b.output("y", "u8"))
    check(GUARDS, b.model(), {"drop": 1} if fires else {})


TWO_ROOTS = """
rule swap "Several statements, a shared node and two roots" {
    d = &Abs(x)
    y = Neg(Relu(d))
    z = Sqrt(Relu(d))
 => y = Neg(d)
    z = Sqrt(d)
    exact
}
"""


def two_roots(output: bool) -> Builder:
    b = Builder()
    d = b.node("Abs", [b.input("x", "f32", (3,))], b.output("d", "f32") if output else "")
    b.node("Neg", [b.node("Relu", [d])], b.output("y", "f32"))
    b.node("Sqrt", [b.node("Relu", [d])], b.output("z", "f32"))
    return b


@pytest.mark.parametrize("output", [False, True])
def test_several_roots_are_found_through_a_shared_node(output: bool) -> None:
    result = check(TWO_ROOTS, two_roots(output).model(), {"swap": 1})
    assert result.count("Relu") == 0 and result.count("Abs") == 1


def test_one_node_is_not_owned_twice() -> None:
    """One Relu behind both roots would have to be removed for each of them."""
    b = Builder()
    r = b.node("Relu", [b.node("Abs", [b.input("x", "f32", (3,))])])
    b.node("Neg", [r], b.output("y", "f32"))
    b.node("Sqrt", [r], b.output("z", "f32"))
    check(TWO_ROOTS, b.model(), {})
