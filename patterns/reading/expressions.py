"""From lark's tree to the expressions of the syntax tree."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TypeAlias

from lark import Token, Tree

from ..diagnostics import failure
from ..syntax import (
    Binary,
    Call,
    Compare,
    Conditional,
    Expr,
    Field,
    Index,
    ListOf,
    Literal,
    Logical,
    Member,
    Name,
    Source,
    Span,
    Unary,
    With,
)

Branch: TypeAlias = "Tree[Token]"
Child: TypeAlias = "Branch | Token | None"

LONGEST_NUMBER = 40
"""Characters of a number; no int64 or float64 needs as many."""
ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n"}


def span_of(place: Branch | Token, source: Source) -> Span:
    """The text that a branch or token covers."""
    at = place if isinstance(place, Token) else place.meta
    return Span(
        source,
        at.line or 1,
        at.column or 1,
        at.end_line or at.line or 1,
        at.end_column or at.column or 1,
    )


def branches(children: Sequence[Child]) -> list[Branch]:
    return [child for child in children if isinstance(child, Tree)]


def tokens(children: Sequence[Child]) -> list[Token]:
    return [child for child in children if isinstance(child, Token)]


def string(token: Token, source: Source) -> str:
    """The text of a string token; the escapes are ``\\"``, ``\\\\`` and ``\\n``."""

    def unescape(match: re.Match[str]) -> str:
        if match[0] not in ESCAPES:
            raise failure(
                f"unknown escape {match[0]} in a string",
                span_of(token, source),
                r"the escapes are \", \\ and \n",
            )
        return ESCAPES[match[0]]

    return re.sub(r"\\.", unescape, token[1:-1])


def strings(found: Sequence[Token], source: Source) -> str:
    """Several strings in a row are one text, joined by a space."""
    return " ".join(string(token, source) for token in found)


def number(children: Sequence[Child], source: Source) -> int | float:
    """The value of ``[MINUS] (INT | FLOAT)``; an INT stays an int."""
    found = tokens(children)
    token = found[-1]
    span = span_of(token, source)
    if len(token) > LONGEST_NUMBER:
        raise failure(f"a number has at most {LONGEST_NUMBER} characters", span)
    value = int(token) if token.type == "INT" else float(token)
    if not math.isfinite(value):
        raise failure(f"{token} is too large for a 64-bit float", span)
    return -value if len(found) > 1 else value


def expression(child: Child, source: Source) -> Expr:
    """The expression of a branch (see ``?expr`` in the grammar)."""
    assert isinstance(child, Tree)
    span = span_of(child, source)
    kind, children = child.data, child.children
    if kind in _LEAVES:
        return _leaf(child, source, span)
    if kind in ("any_of", "all_of"):
        operands = tuple(expression(each, source) for each in children)
        return Logical("or" if kind == "any_of" else "and", operands, span)
    if kind in ("negate", "negative"):
        return _unary("not" if kind == "negate" else "-", expression(children[-1], source), span)
    if kind == "binary":
        left, operator, right = children
        return Binary(str(operator), expression(left, source), expression(right, source), span)
    if kind == "conditional":
        then, condition, otherwise = (expression(each, source) for each in children)
        return Conditional(then, condition, otherwise, span)
    if kind in ("tuple", "list"):
        elements = tuple(expression(each, source) for each in branches(children))
        return ListOf(elements, kind == "tuple", span)
    if kind in ("compare", "member", "not_member"):
        return _condition(child, source, span)
    return _postfix(child, source, span)


_LEAVES = frozenset({"name", "unsigned", "string", "true", "false", "null"})


def _leaf(branch: Branch, source: Source, span: Span) -> Expr:
    kind, children = branch.data, branch.children
    if kind == "name":
        return Name(str(children[0]), span)
    if kind == "unsigned":
        return Literal(number(children, source), span)
    if kind == "string":
        return Literal(string(tokens(children)[0], source), span)
    return Literal({"true": True, "false": False, "null": None}[kind], span)


def _unary(operator: str, operand: Expr, span: Span) -> Expr:
    """``-1`` is the literal -1: it is what a term's ``-1`` is, and saves every reader a case."""
    if operator == "-" and isinstance(operand, Literal):
        value = operand.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return Literal(-value, span)
    return Unary(operator, operand, span)


def _condition(branch: Branch, source: Source, span: Span) -> Expr:
    first = expression(branch.children[0], source)
    if branch.data != "compare":
        return Member(first, choices(branch.children[1], source), branch.data != "member", span)
    rest: list[tuple[str, Expr]] = []
    pairs = branches(branch.children[1:])
    for comparator, operand in zip(pairs[::2], pairs[1::2], strict=True):
        rest.append((str(comparator.children[0]), expression(operand, source)))
    return Compare(first, tuple(rest), span)


def choices(child: Child, source: Source) -> tuple[Expr, ...] | str:
    """The right side of ``in``: the elements of a set, or the name of an op set."""
    assert isinstance(child, Tree)
    named = tokens(child.children)
    if named:
        return str(named[0])
    return tuple(expression(each, source) for each in child.children)


def _postfix(branch: Branch, source: Source, span: Span) -> Expr:
    kind, children = branch.data, branch.children
    if kind == "field":
        return Field(expression(children[0], source), str(children[1]), span)
    if kind == "index":
        base, index = children
        return Index(expression(base, source), expression(index, source), span)
    if kind == "with_fields":
        fields = [_keyword(each, source) for each in branches(children[1:])]
        _refuse_repeated(fields, span)
        return With(expression(children[0], source), tuple(fields), span)
    assert kind == "call", kind
    arguments: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    for argument in branches(children[1].children if isinstance(children[1], Tree) else ()):
        if argument.data == "kwarg":
            keywords.append(_keyword(argument, source))
        elif keywords:
            place = span_of(argument, source)
            raise failure("an argument without a name stands after one with a name", place)
        else:
            arguments.append(expression(argument, source))
    _refuse_repeated(keywords, span)
    return Call(str(children[0]), tuple(arguments), tuple(keywords), span)


def _keyword(branch: Branch, source: Source) -> tuple[str, Expr]:
    return str(branch.children[0]), expression(branch.children[1], source)


def _refuse_repeated(keywords: Sequence[tuple[str, Expr]], span: Span) -> None:
    names = [name for name, _ in keywords]
    for name in names:
        if names.count(name) > 1:
            raise failure(f'"{name}" is given twice', span)
