"""Conditions: types, ranks, shapes, constants, opsets, consumers; what is not known; logic."""

from __future__ import annotations

import pytest
from onnx import ModelProto

from ..rules.graphs import Builder, Grid
from .harness import check, rewritten

WHERE = """
rule drop "Two Abs are one" {{
    y = Abs(a: Abs(v))
    where {condition}
 => y = Abs(v)
    exact
}}
"""


def graph(shape: tuple[int | str, ...] | None = (2, 3), opset: int = 19) -> ModelProto:
    b = Builder(opset)
    b.node("Abs", [b.node("Abs", [b.input("x", "f32", shape)])], b.output("y", "f32", shape))
    return b.model()


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("v.type == f32", True),
        ("v.type != f32", False),
        ("v.type in {f16, f64}", False),
        ("v.type not in {f16, f64}", True),
        ("(v.type, y.type) in {(f16, f16), (f32, f32)}", True),
        ("(v.type, y.type) not in {(f16, f16), (f32, f32)}", False),
        ("v.type == y.type", True),
        ("rank(v) == 2", True),
        ("not rank(v) == 2", False),
        ("1 < rank(v) <= 2", True),
        ("dim(v, 0) == 2 and dim(v, -1) == 3", True),
        ("dim(v, 2) == 3", False),
        ("not dim(v, 2) == 3", False),
        ("shape(v) == [2, 3]", True),
        ("shape(v) == [3, 2]", False),
        ("size(v) == 6", True),
        ("size(v) / dim(v, 0) == 3", True),
        ("is_const(v)", False),
        ("not is_const(v)", True),
        ("is_input(v)", True),
        ("is_output(y)", True),
        ("is_output(v)", False),
        ("use_count(v) == 1", True),
        ("use_count(y) == 0", True),
        ("opset >= 13", True),
        ("opset < 13", False),
        ('opset("com.microsoft") >= 1', False),
        ('a.name == "Abs"', True),
        ("a.version == 13", True),
        ("v.type == f32 or rank(v) == 7", True),
        ("rank(v) == 7 or v.type == f32", True),
        ("not (rank(v) == 7 or v.type == f32)", False),
        ("not (rank(v) == 7 and v.type == f32)", True),
        ("(rank(v) if v.type == f32 else 0) == 2", True),
        ("(rank(v) if v.type == f16 else 0) == 2", False),
        ("2 * rank(v) - 1 == 3", True),
        ("bits(u8) == 8 and is_signed(i8) and not is_signed(u16)", True),
        ("lowest(i8) == -128 and highest(u16) == 65535", True),
    ],
)
def test_conditions(condition: str, holds: bool) -> None:
    check(WHERE.format(condition=condition), graph(), {"drop": 1} if holds else {})


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("dim(v, 0) == 2", False),
        ("dim(v, 0) != 2", False),
        ("not dim(v, 0) == 2", False),
        ("not dim(v, 0) != 2", False),
        ("dim(v, 0) == 2 or dim(v, 1) == 3", True),
        ("not (dim(v, 0) == 2 or dim(v, 1) == 3)", False),
        ("dim(v, 0) == 2 and dim(v, 1) == 4", False),
        ("not (dim(v, 0) == 2 and dim(v, 1) == 4)", True),
        ("size(v) > 0", False),
        ("not size(v) > 0", False),
    ],
)
def test_what_is_not_known_fails(condition: str, holds: bool) -> None:
    """Kleene's logic: a condition that cannot be decided fails, and so does its negation."""
    model = graph(("n", 3))
    result = rewritten(WHERE.format(condition=condition), model)
    assert bool(result.fired) == holds


CONSTANTS = """
rule drop "A product with a constant" {{
    y = Mul(v, c)
    where is_const(c), {condition}
 => y = v
    exact
}}
"""


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ("c == 0.1", (0.1, 0.1), True),
        ("c == 0.1", (0.1, 0.2), False),
        ("c != 0.1", (0.1, 0.2), True),
        ("0 < c <= 1", (0.5, 1.0), True),
        ("0 < c <= 1", (0.5, 1.5), False),
        ("not c > 1", (0.5, 1.5), True),
        ("not c > 1", (1.25, 1.5), False),
        ("positive(c)", (0.5, 1.5), True),
        ("positive(c)", (0.5, 0.0), False),
        ("positive(c)", (0.5, float("inf")), False),
        ("positive(c)", (0.5, float("nan")), False),
        ("0 < c", (0.5, float("nan")), False),
        ("finite(c)", (-1.0, 0.0), True),
        ("finite(c)", (-1.0, float("inf")), False),
        ("close(c, 0.5)", (0.5, 0.5), True),
        ("close(c, 0.5)", (0.5, 0.50001), False),
        ("close(c, 0.5, rtol = 0.001)", (0.5, 0.50001), True),
        ("all_equal(c)", (3.0, 3.0), True),
        ("all_equal(c)", (3.0, 4.0), False),
        ("min(c) == -2 and max(abs(c)) == 2", (-2.0, 1.0), True),
        ("max(c) < 1", (-2.0, 1.0), False),
        ("c * 3 == 0.3", (0.1, 0.1), True),
        ("c * 3 == 1.5", (0.5, 0.5), True),
        ("c / 2 - 1 == 0", (2.0, 2.0), True),
        ("fits(c, u8)", (0.0, 255.0), True),
        ("fits(c, u8)", (0.0, 256.0), False),
        ("same(c, c)", (0.0, float("nan")), True),
    ],
)
def test_conditions_on_constants(condition: str, value: tuple[float, ...], holds: bool) -> None:
    """In float32: 0.1 is the float32 next to it, and three times that rounds to the one next to
    0.3."""
    b = Builder()
    v = b.node("Abs", [b.input("x", "f32", (2,))])
    b.node("Mul", [v, b.constant(value, "f32")], b.output("y", "f32"))
    result = rewritten(CONSTANTS.format(condition=condition), b.model())
    assert bool(result.fired) == holds


def test_a_value_that_is_not_constant_fails_every_condition_on_its_content() -> None:
    for condition in ("c == 1", "c != 1", "c > 0", "not c > 0", "not close(c, 1)"):
        b = Builder()
        b.node("Mul", [b.input("x", "f32", (2,)), b.input("c", "f32", (2,))], b.output("y", "f32"))
        rule = CONSTANTS.format(condition=condition).replace("is_const(c), ", "")
        assert not rewritten(rule, b.model()).fired, condition


GRIDS = """
rule drop "Conditions on grids" {{
    y = Q(Abs(DQ(x)))
    where x.type == u8, {condition}
 => y = x
    exact
}}
"""


@pytest.mark.parametrize(
    ("condition", "x", "y", "holds"),
    [
        ("per_tensor(x)", Grid("u8", [0.5], [0]), Grid("u8", 0.5, 0), True),
        ("per_tensor(x)", Grid("u8", (0.5, 0.5), 0, 1), Grid("u8", 0.5, 0), False),
        ("per_axis(x, 1)", Grid("u8", (0.5, 0.5), 0, -1), Grid("u8", 0.5, 0), True),
        ("per_axis(x, -1)", Grid("u8", (0.5, 0.5), 0, 1), Grid("u8", 0.5, 0), True),
        ("per_axis(x, 0)", Grid("u8", (0.5, 0.5), 0, 1), Grid("u8", 0.5, 0), False),
        ("x.axis == 1", Grid("u8", (0.5, 0.5), 0), Grid("u8", 0.5, 0), True),
        ("x.axis == 1", Grid("u8", 0.5, 0), Grid("u8", 0.5, 0), False),
        ("x.axis == none", Grid("u8", 0.5, 0), Grid("u8", 0.5, 0), True),
        ("same_grid(x, y)", Grid("u8", [0.5], [0]), Grid("u8", 0.5, None), True),
        ("same_grid(x, y)", Grid("u8", 0.5, 1), Grid("u8", 0.5, None), False),
        ("same_grid(x, y)", Grid("u8", 0.5, 0), Grid("u8", 0.25, 0), False),
        ("same_grid(x, y)", Grid("u8", (0.5, 0.25), 0, 1), Grid("u8", (0.5, 0.25), 0, -1), True),
        ("same_grid(x, y)", Grid("u8", (0.5, 0.25), 0, 1), Grid("u8", (0.5, 0.25), 0, 0), False),
        ("x.zero_point == 0", Grid("u8", 0.5, None), Grid("u8", 0.5, 0), True),
        ("x.zero_point == y.zero_point", Grid("u8", 0.5, None), Grid("u8", 0.5, 0), True),
        ("x.zero_point == y.zero_point", Grid("u8", 0.5, 7), Grid("u8", 0.5, 0), False),
        ("x.zero_point == lowest(x.type)", Grid("u8", 0.5, 0), Grid("u8", 0.5, 0), True),
        ("x.scale == y.scale", Grid("u8", 0.5, 0), Grid("u8", [0.5], [0]), True),
        ("x.scale * 2 == y.scale", Grid("u8", 0.25, 0), Grid("u8", 0.5, 0), True),
        ("x.scale * y.scale / 2 == 0.125", Grid("u8", 0.5, 0), Grid("u8", 0.5, 0), True),
        ("x.block_size == 0", Grid("u8", 0.5, 0), Grid("u8", 0.5, 0), True),
        ("y.type == u8", Grid("u8", 0.5, 0), Grid("u8", 0.5, None), True),
    ],
)
def test_conditions_on_grids(condition: str, x: Grid, y: Grid, holds: bool) -> None:
    b = Builder()
    v = b.node("Abs", [b.dq(b.input("x", "u8", (2, 2)), x)])
    b.q(v, y, b.output("y", "u8"))
    result = rewritten(GRIDS.format(condition=condition), b.model())
    assert bool(result.fired) == holds


@pytest.mark.parametrize(
    ("statement", "consumers", "holds"),
    [
        ("each use of y is n = Neg(y)", ("Neg", "Neg"), True),
        ("each use of y is n = Neg(y)", ("Neg", "Sqrt"), False),
        ("each use of y is n = Neg(y)", (), False),
        ("each use of y is (Neg(y) | Sqrt(y))", ("Neg", "Sqrt"), True),
        ("some use of y is n = Sqrt(y)", ("Neg", "Sqrt"), True),
        ("some use of y is n = Sqrt(y)", ("Neg",), False),
        ("no use of y is Sqrt(y)", ("Neg",), True),
        ("no use of y is Sqrt(y)", ("Neg", "Sqrt"), False),
        ("no use of y is Sqrt(y)", (), True),
    ],
)
def test_what_the_consumers_of_a_value_are(
    statement: str, consumers: tuple[str, ...], holds: bool
) -> None:
    rule = f"""
    rule shared "By its consumers" {{
        y = Abs(Abs(v))
        {statement}
     => y = Abs(v)
        exact
    }}
    """
    b = Builder()
    y = b.node("Abs", [b.node("Abs", [b.input("x", "f32", (2,))])], b.output("y", "f32"))
    for index, op in enumerate(consumers):
        b.node(op, [y], b.output(f"z{index}", "f32"))
    check(rule, b.model(), {"shared": 1} if holds else {})


def test_uses_bind_lists() -> None:
    rule = """
    rule drop "Names inside are lists, and conditions hold for every element" {
        y = Abs(Abs(v))
        each use of y is n = Add(y, c)
        where is_const(c), c == 1
     => y = Abs(v)
        exact
    }
    """
    for second, fires in ((1.0, True), (2.0, False)):
        b = Builder()
        y = b.node("Abs", [b.node("Abs", [b.input("x", "f32", (2,))])])
        b.node("Add", [y, b.constant(1.0, "f32")], b.output("p", "f32"))
        b.node("Add", [y, b.constant((1.0, second), "f32")], b.output("q", "f32"))
        check(rule, b.model(), {"drop": 1} if fires else {})
