"""Text to syntax tree: what each form of the language becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from qrewrite.patterns.reading.grammar import parser
from qrewrite.patterns.reading.parse import parse
from qrewrite.patterns.syntax import (
    Absent,
    Apply,
    Arity,
    Assign,
    Attribute,
    Binary,
    Capture,
    Compare,
    Conditional,
    Constant,
    DropAttribute,
    Expr,
    Field,
    Fragment,
    Group,
    Guard,
    Item,
    ListOf,
    Literal,
    Logical,
    Lossy,
    Member,
    Name,
    OpDeclaration,
    OpSet,
    PackHeader,
    Presence,
    Property,
    Rest,
    RestAttributes,
    Rule,
    Source,
    Span,
    Term,
    Unary,
    Wildcard,
    With,
    WithinQuanta,
    WithinRelative,
)

EVERYTHING = Path(__file__).with_name("everything.rules")
NOWHERE = Span(Source("", ""), 1, 1, 1, 1)  # spans take no part in comparisons


def items(text: str) -> tuple[Item, ...]:
    return parse(Source("f.rules", text)).items


def rule(body: str) -> Rule:
    (found,) = items(f"rule r {{ {body} }}")
    assert isinstance(found, Rule)
    return found


def term(text: str) -> Term:
    (statement,) = rule(f"y = {text} => y = A(x)").pattern
    assert isinstance(statement, Assign)
    return statement.term


def node(text: str) -> Apply:
    found = term(text)
    assert isinstance(found, Apply)
    return found


def expression(text: str) -> Expr:
    (found,) = items(f"guard g(x) = {text}")
    assert isinstance(found, Guard)
    (condition,) = found.conditions
    return condition


def name(text: str) -> Name:
    return Name(text, NOWHERE)


def number(value: int | float) -> Literal:
    return Literal(value, NOWHERE)


def test_the_sample_has_every_form_of_the_grammar() -> None:
    """The sample stands for the whole language in other tests; here it is built whole."""
    text = EVERYTHING.read_text()
    lark = parser()
    forms = {str(rule.alias or rule.origin.name) for rule in lark.rules}
    kept = {form for form in forms if not form.startswith("_")}
    inlined = {rule.origin.name for rule in lark.rules if rule.options.expand1 and not rule.alias}
    seen = {str(tree.data) for tree in lark.parse(text).iter_subtrees()}
    assert kept - seen - inlined == set()
    assert len(parse(Source("everything.rules", text)).items) == len(lark.parse(text).children)


def test_an_empty_file_has_no_items() -> None:
    assert items("") == ()
    assert items("# nothing\n\n") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", number(1)),
        ("-1", number(-1)),
        ("2.5", number(2.5)),
        ("1e-6", number(1e-6)),
        ("none", Literal(None, NOWHERE)),
        ("true", Literal(True, NOWHERE)),
        (r'"a\"b\\c\n"', Literal('a"b\\c\n', NOWHERE)),
        ("x.scale", Field(name("x"), "scale", NOWHERE)),
        ("not x", Unary("not", name("x"), NOWHERE)),
        ("-x", Unary("-", name("x"), NOWHERE)),
        ("[]", ListOf((), False, NOWHERE)),
        ("(a, b)", ListOf((name("a"), name("b")), True, NOWHERE)),
        ("x in movement", Member(name("x"), "movement", False, NOWHERE)),
        ("x not in {u8}", Member(name("x"), (name("u8"),), True, NOWHERE)),
        (
            "w with {scale = s}",
            With(name("w"), (("scale", name("s")),), NOWHERE),
        ),
        (
            "0 < x <= 9",
            Compare(number(0), (("<", name("x")), ("<=", number(9))), NOWHERE),
        ),
        (
            "a if c else b",
            Conditional(name("a"), name("c"), name("b"), NOWHERE),
        ),
    ],
)
def test_expressions(text: str, expected: Expr) -> None:
    assert expression(text) == expected


def test_an_integer_stays_an_integer() -> None:
    whole, fraction = expression("1"), expression("1.0")
    assert isinstance(whole, Literal) and type(whole.value) is int
    assert isinstance(fraction, Literal) and type(fraction.value) is float


def test_operators_bind_as_in_python() -> None:
    a, b, c = name("a"), name("b"), name("c")
    assert expression("a - b - c") == Binary("-", Binary("-", a, b, NOWHERE), c, NOWHERE)
    assert expression("a + b * c") == Binary("+", a, Binary("*", b, c, NOWHERE), NOWHERE)
    assert expression("(a + b) * c") == Binary("*", Binary("+", a, b, NOWHERE), c, NOWHERE)
    assert expression("a or b and not c") == Logical(
        "or", (a, Logical("and", (b, Unary("not", c, NOWHERE)), NOWHERE)), NOWHERE
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", Capture("x", None, Arity.ONE, NOWHERE)),
        ("x?", Capture("x", None, Arity.OPTIONAL, NOWHERE)),
        ("x.scale", Capture("x", "scale", Arity.ONE, NOWHERE)),
        ("x.zero_point?", Capture("x", "zero_point", Arity.OPTIONAL, NOWHERE)),
        ("_", Wildcard(Arity.ONE, NOWHERE)),
        ("_?", Wildcard(Arity.OPTIONAL, NOWHERE)),
        ("none", Absent(NOWHERE)),
        ("*rest", Rest("rest", NOWHERE)),
        ("-2", Constant(-2, NOWHERE)),
        ("[1, 2]", Constant((1, 2), NOWHERE)),
        ("[]", Constant((), NOWHERE)),
        (
            "(x, x.scale)...",
            Group(
                (
                    Capture("x", None, Arity.ONE, NOWHERE),
                    Capture("x", "scale", Arity.ONE, NOWHERE),
                ),
                NOWHERE,
            ),
        ),
    ],
)
def test_operands(text: str, expected: Term) -> None:
    assert node(f"F({text})").operands == (expected,)


@pytest.mark.parametrize(
    ("text", "presence"),
    [
        ("F(x)", Presence.ONCE),
        ("F?(x)", Presence.OPTIONAL),
        ("F*(x)", Presence.ANY),
        ("F+<axis = 1>(x)", Presence.SOME),
    ],
)
def test_presence_of_a_node(text: str, presence: Presence) -> None:
    assert node(text).presence is presence
    assert node(text).arity is Arity.ONE


def test_an_optional_operand_is_not_an_optional_node() -> None:
    (operand,) = node("F(G(x)?)").operands
    assert isinstance(operand, Apply)
    assert (operand.arity, operand.presence) == (Arity.OPTIONAL, Presence.ONCE)


def test_op_names() -> None:
    found = node("com.microsoft::QLinear{op}Extra(x)").op
    assert (found.domain, found.name, found.slot, found.suffix) == (
        "com.microsoft",
        "QLinear",
        "op",
        "Extra",
    )
    assert node("ai.onnx::Conv(x)").op == node("Conv(x)").op


def test_labels_borrowing_and_commuting() -> None:
    found = node("&op: F~(x)")
    assert (found.label, found.borrowed, found.commuted) == ("op", True, True)


def test_attributes() -> None:
    assert node("F(x)").attributes is None
    assert node("F<axis = 1, b = b?, c = _, *attrs>(x)").attributes == (
        Attribute("axis", number(1), False, NOWHERE),
        Attribute("b", name("b"), True, NOWHERE),
        DropAttribute("c", NOWHERE),
        RestAttributes("attrs", NOWHERE),
    )
    assert node("F<*_>(x)").attributes == (RestAttributes(None, NOWHERE),)


def test_claims() -> None:
    start = "y = A(x) => y = B(x)"
    assert rule(f"{start}").claim is None
    assert rule(f"{start} within 1 quantum of y").claim == WithinQuanta(1.0, "y", 0.1, NOWHERE)
    share = rule(f"{start} within 2 quanta of y for at most 50 %").claim
    assert share == WithinQuanta(2.0, "y", 0.5, NOWHERE)
    assert rule(f"{start} within 1e-5 relative").claim == WithinRelative(1e-5, NOWHERE)
    assert rule(f"{start} lossy within 0.5 quantum of q").claim == Lossy(0.5, "q", NOWHERE)


def test_a_rule_with_all_it_can_say() -> None:
    (found,) = items(
        'rule r "title" in fuse priority -2 override expands {'
        " y = A(x) where a, b let q = f(x) where c => y = B(q) z = C(q)"
        ' exact then s or t compare codes of x hint "h" doc "one" "two" }'
    )
    assert isinstance(found, Rule)
    assert (found.title, found.phase, found.priority) == ("title", "fuse", -2)
    assert found.override and found.expands
    assert [type(clause).__name__ for clause in found.clauses] == ["Where", "Let", "Where"]
    assert len(found.template) == 2
    assert found.then == ("s", "t")
    assert (found.compare_codes, found.hint, found.doc) == ("x", "h", "one two")


def test_words_of_the_language_can_be_names_where_only_a_name_fits() -> None:
    found = rule("y = in(rule, exact) => y = of<then = 1>(where)")
    assert isinstance(found.pattern[0], Assign) and isinstance(found.pattern[0].term, Apply)
    assert found.pattern[0].term.op.name == "in"


def test_declarations() -> None:
    ops, prop, fragment, declaration = items(
        "commutative ops arith = Add | com.acme::Add "
        "property axis(op) = {Conv: 0, Gemm: 1 if op.transB == 0 else 0,} "
        "pattern y = Q(v) = A(v) where c, d | B(v) "
        "op com.acme::Foo<a: float = 1.0, b: ints>(x: T, z: f32?, r: T...) -> y: T where T in {u8}"
    )
    assert isinstance(ops, OpSet) and ops.commutative
    assert [op.domain for op in ops.ops] == ["", "com.acme"]
    assert isinstance(prop, Property) and len(prop.rows) == 2
    assert isinstance(fragment, Fragment) and fragment.result == "y"
    assert [len(each.conditions) for each in fragment.alternatives] == [2, 0]
    assert isinstance(declaration, OpDeclaration)
    assert [each.arity for each in declaration.inputs] == [
        Arity.ONE,
        Arity.OPTIONAL,
        Arity.REPEATED,
    ]
    assert declaration.type_variables == (("T", ("u8",)),)


def test_an_op_declaration_without_inputs() -> None:
    (found,) = items("op com.acme::Source() -> y: f32")
    assert isinstance(found, OpDeclaration)
    assert found.inputs == () and [each.name for each in found.outputs] == ["y"]


def test_pack_header() -> None:
    (found,) = items(
        'pack ort-cpu "t" { extends onnx, a-b extends c needs ai.onnx >= 10, com.microsoft >= 1'
        ' phases p, q without r option target = "x86" in {"x86", "arm"} "doc" option n = -3 }'
    )
    assert isinstance(found, PackHeader)
    assert found.parents == ("onnx", "a-b", "c")
    assert found.needs == (("", 10), ("com.microsoft", 1))
    assert (found.phases, found.without) == (("p", "q"), ("r",))
    target, count = found.options
    assert (target.default, target.choices, target.doc) == ("x86", ("x86", "arm"), "doc")
    assert (count.default, count.choices, count.doc) == (-3, (), "")


def test_spans_say_where_things_are() -> None:
    text = "# one\nrule r {\n    y = F(\n        x.scale)\n => y = x\n}\n"
    (found,) = items(text)
    assert isinstance(found, Rule)
    (statement,) = found.pattern
    assert isinstance(statement, Assign) and isinstance(statement.term, Apply)
    span = statement.term.operands[0].span
    assert (span.line, span.column, span.end_line, span.end_column) == (4, 9, 4, 16)
    assert (found.name_span.line, found.name_span.column, found.name_span.end_column) == (2, 6, 7)
    assert (found.span.line, found.span.end_line) == (2, 6)
