"""Formatting keeps the meaning, the comments and the groups, and is done after one pass."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import qrewrite.rules
from qrewrite.patterns.diagnostics import RuleFileError
from qrewrite.patterns.formatting.format import format_source
from qrewrite.patterns.formatting.lines import WIDTH
from qrewrite.patterns.reading.parse import parse
from qrewrite.patterns.syntax import Source

EVERYTHING = Path(__file__).with_name("everything.rules")
SHIPPED = sorted(Path(next(iter(qrewrite.rules.__path__))).rglob("*.rules"))
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|#[^\n]*|[A-Za-z0-9_.:\-]+|[^\s]')
GLUED = {"?", "*", "+"}


def formatted(text: str) -> str:
    return format_source(Source("f.rules", text))


def items(text: str) -> object:
    return parse(Source("f.rules", text)).items


def comments(text: str) -> list[str]:
    return [match for match in TOKEN.findall(text) if match.startswith("#")]


@pytest.mark.parametrize("path", [EVERYTHING, *SHIPPED], ids=lambda path: path.name)
def test_meaning_and_comments_stay_and_a_second_pass_changes_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    once = formatted(text)
    assert items(once) == items(text)
    assert comments(once) == [comment.rstrip() for comment in comments(text)]
    assert formatted(once) == once
    code = [line for line in once.split("\n") if "#" not in line and '"' not in line]
    assert max(map(len, code)) <= WIDTH


@pytest.mark.parametrize("path", [EVERYTHING, *SHIPPED], ids=lambda path: path.name)
@pytest.mark.parametrize("seed", [1, 2])
def test_any_layout_of_the_tokens_is_brought_into_form(path: Path, seed: int) -> None:
    """Space and line ends of every kind between tokens; the marks of a node stay where they are."""
    source = path.read_text(encoding="utf-8")
    chance = random.Random(seed)
    spaces = [" ", "  ", "\t", "\n", "\n\n\n", "\n      "]
    text = ""
    end = 0
    for match in TOKEN.finditer(source):
        apart = source[end : match.start()] != ""
        text += (chance.choice(spaces) if apart else "") + match[0]
        text += "\n" if match[0].startswith("#") else ""
        end = match.end()
    once = formatted(text)
    assert items(once) == items(source)
    assert comments(once) == [comment.rstrip() for comment in comments(source)]
    assert formatted(once) == once


def test_canonical_form() -> None:
    text = (
        "phase   fuse\n\n\n\n"
        "# about r\n"
        'rule r   "t"  in  fuse{  # here\n\n\n'
        "# first\n"
        "y=Q(op:F<axis=-1,*attrs>( DQ( x ) ,b ?,*rest , (a|c) ) )\n\n\n"
        "where x.type in { u8,i8 },not(a or b)and c[0].d==-1, # why\n"
        "# and\n"
        "2*x  -  1<3\n"
        "let q=f( w,axis=0 ),r=q with{scale=s}\n"
        "=>y=com.acme::Q{op}Z<*attrs>(x ,(x,x.scale)... )\n"
        "z=x\n"
        "within 1 quantum of y for at most 50 %\n"
        "# last\n\n"
        "}ops a=B|C\n"
        "#end\n"
    )
    assert formatted(text) == (
        "phase fuse\n\n"
        "# about r\n"
        'rule r "t" in fuse {  # here\n'
        "    # first\n"
        "    y = Q(op: F<axis = -1, *attrs>(DQ(x), b?, *rest, (a | c)))\n\n"
        "    where x.type in {u8, i8}, not (a or b) and c[0].d == -1,  # why\n"
        "          # and\n"
        "          2 * x - 1 < 3\n"
        "    let q = f(w, axis = 0), r = q with {scale = s}\n"
        " => y = com.acme::Q{op}Z<*attrs>(x, (x, x.scale)...)\n"
        "    z = x\n"
        "    within 1 quantum of y for at most 50%\n"
        "    # last\n"
        "}\n\n"
        "ops a = B | C\n"
        "#end\n"
    )


def test_blank_lines_group_and_are_single() -> None:
    text = "ops a = B\nops c = D\n\n\n\nops e = F\nrule r { y = A(x) => y = B(x) }\nops g = H\n"
    assert formatted(text) == (
        "ops a = B\nops c = D\n\nops e = F\n\n"
        "rule r {\n    y = A(x)\n => y = B(x)\n}\n\nops g = H\n"
    )


def test_a_long_line_is_broken_at_its_outermost_commas() -> None:
    names = [f"condition_{number}(x, y)" for number in range(8)]
    assert formatted(f"guard g(x, y) = {', '.join(names)}\n").split("\n") == [
        f"guard g(x, y) = {', '.join(names[:4])},",
        f"                {', '.join(names[4:])}",
        "",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n"])
def test_a_file_without_items(text: str) -> None:
    assert formatted(text) == text.lstrip("\n")


def test_a_file_with_errors_is_not_formatted() -> None:
    with pytest.raises(RuleFileError):
        formatted("rule r {")
