"""What a file that is not in the language is answered with."""

from __future__ import annotations

import pytest

from qrewrite.patterns.diagnostics import Diagnostic, RuleFileError
from qrewrite.patterns.reading.parse import parse
from qrewrite.patterns.syntax import Source


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(RuleFileError) as caught:
        parse(Source("f.rules", text))
    return caught.value.diagnostics


def only(text: str) -> Diagnostic:
    (found,) = errors(text)
    return found


def place(diagnostic: Diagnostic) -> tuple[int, int]:
    assert diagnostic.span is not None
    return diagnostic.span.line, diagnostic.span.column


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("rule x { y = F(x) }", 19, 'expected "=>" before "}"'),
        ("rule x { y = F(x => y = B(x) }", 18, 'expected ")" or "," before "=>"'),
        ("rule x { y = F(x) where a == => y = G }", 30, 'expected an expression before "=>"'),
        ("rule x { y = F(a: ) }", 19, 'expected a name before ")"'),
        ("rule { }", 6, 'expected a name before "{"'),
        ("rule x { y = F(x) -> y = G(x) }", 19, 'expected "=>" before "->"'),
        ("rule x { F(x) => y = G(x) }", 11, 'expected "=" or "," before "("'),
        ("rule x { y = F<a = 1(x) => y = G }", 21, 'expected ">" or "," before "("'),
        ("rule x priority high {}", 17, 'expected a whole number before "high"'),
        ("ops a =", 8, "expected a name before the end of the file"),
        ("rule x { y = F(x)", 18, 'expected "=>" before the end of the file'),
        ("pack x { option t = u8 }", 21, 'expected true, false, a number or a string before "u8"'),
        (
            "ops a = Add, Mul",
            12,
            'expected "|" or a new item (rule, pattern, guard, ops, …) before ","',
        ),
        ("rule x { y = F(x?...) => y = G }", 18, "an operand has one mark, ? or ..."),
        ("rule x { y = A(x) => y = B(x) exact exact }", 37, "a rule makes one claim"),
        (
            'rule x { y = A(x) => y = B(x) hint "a" hint "b" }',
            40,
            '"hint" stands twice in one rule',
        ),
        ("rule x override override { y = A(x) => y = B(x) }", 17, "this is said twice of one rule"),
        ("rule x { y = A<a = 1, a = 2>(x) => y = B }", 23, 'attribute "a" is given twice'),
        ("rule x { y = A<*p, *q>(x) => y = B }", 20, "the remaining attributes are named twice"),
        ("guard g(x) = f(a = 1, 2)", 23, "an argument without a name stands after one with a name"),
        ("guard g(x) = f(a = 1, a = 2)", 14, '"a" is given twice'),
        ("guard g(x) = 1e999", 14, "1e999 is too large for a 64-bit float"),
        (f"guard g(x) = {'1' * 5000}", 14, "a number has at most 40 characters"),
        (r'guard g(x) = "\q"', 14, r"unknown escape \q in a string"),
        ('guard g(x) = "abc', 14, "a string ends on the line it starts on"),
        ("guard g(x) = x.\x01", 16, "expected a name before U+0001"),
        (
            "rule x { y = A(x) => y = B(x) within 1 quantum of y for at most 200 % }",
            53,
            "a share is between 0 and 100 %",
        ),
        (
            "op Foo(x: T) -> y: T where T in {1}",
            28,
            "a type variable ranges over element types, as in T in {u8, i8}",
        ),
    ],
)
def test_message_and_place(text: str, column: int, message: str) -> None:
    found = only(text)
    assert found.message == message
    assert place(found) == (1, column)


@pytest.mark.parametrize(
    ("text", "column", "note"),
    [
        ("rulle x {}", 1, 'did you mean "rule"?'),
        ("pack a { extend b }", 10, 'did you mean "extends"?'),
        ("rule x { y = F(x) wher a => y = G(x) }", 19, 'did you mean "where"?'),
        ("rule x { y = F(x) => y = G(x) exct }", 31, 'did you mean "exact"?'),
        ("rule x { y = F(x) => y = G(x) within 1 quantm of y }", 40, 'did you mean "quantum"?'),
        ("rule x { y = F(x) where x = 1 => y = G(x) }", 27, "equality is written =="),
        ("rule x { y = F('x') }", 16, 'a string stands in double quotes, as in "x86"'),
    ],
)
def test_likely_slip(text: str, column: int, note: str) -> None:
    found = only(text)
    assert found.note == note
    assert place(found) == (1, column)


def test_each_item_with_an_error_is_reported() -> None:
    found = errors(
        "rule a { y = F(x) => y = G(x) }\n"
        "rulle b { y = F(x) }\n"
        "rule c { y = F(x => y = Z }\n"
        "# in between\n"
        "guard g(x) = x +\n"
        'guard h(x) = "\\q"\n'
        "rule d { y = F(x) }\n"
    )
    assert [place(each) for each in found] == [(2, 1), (3, 18), (5, 17), (6, 14), (7, 19)]


def test_an_item_that_is_not_closed_does_not_hide_the_next() -> None:
    found = errors("rule a { y = F(x)\nrule b { y = F(x) => y = G(x) }\nops c =\n")
    assert [place(each) for each in found] == [(1, 18), (3, 8)]


def test_rendering_points_at_the_text() -> None:
    found = only("# one\nrule x {\n\ty = F(x) wher\tx == 1\n => y = G(x)\n}")
    assert found.render().split("\n") == [
        'f.rules:3:11: error: "wher" is not a word of the language',
        "  \ty = F(x) wher\tx == 1",
        "  \t         ^^^^",
        '  note: did you mean "where"?',
    ]


def test_rendering_shows_part_of_a_long_line() -> None:
    found = only("guard g(x) = " + "x, " * 4_000 + "+")
    assert max(len(line) for line in found.render().split("\n")) < 200
    assert found.render().split("\n")[2].rstrip().endswith("^")


@pytest.mark.parametrize(
    "text",
    [
        "guard g(x) = " + "(" * 10_000 + "x" + ")" * 10_000,
        "guard g(x) = " + "[" * 10_000 + "x" + "]" * 10_000,
        "rule r { y = " + "F(" * 10_000 + "x" + ")" * 10_000 + " => y = G(x) }",
        "guard g(x) = " + "not " * 3_000 + "x",
        "guard g(x) = " + "x + " * 3_000 + "x",
        "guard g(x) = x" + ".a" * 3_000,
        "guard g(x) = " + "x if x else " * 1_000 + "x",
        "guard g(x) = x" + " with {a = 1}" * 1_000,
    ],
    ids=["parentheses", "lists", "nodes", "not", "sum", "fields", "if", "with"],
)
def test_deep_nesting_is_an_error(text: str) -> None:
    assert "nested" in only(text).message


def test_brackets_in_strings_and_comments_are_no_nesting() -> None:
    parse(Source("f.rules", f'guard g(x) = x == "{"(" * 500}"  # {"(" * 500}\n'))


def test_the_number_of_errors_is_bounded() -> None:
    assert len(errors("rule\n" * 5_000)) <= 200
