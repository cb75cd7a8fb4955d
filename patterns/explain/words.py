"""Conditions in the words of the rule: expressions as text, with the arguments of guards put in."""

from __future__ import annotations

from ..compiler.flat import Argument, Scope
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
    Span,
    Unary,
    With,
)

_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}
_COMPOUND = (Binary, Compare, Member, Logical, Conditional)


def text_of(span: Span) -> str:
    """What a rule file says there, on one line."""
    lines = span.source.text.splitlines()[span.line - 1 : span.end_line]
    if not lines:
        return ""
    if span.line == span.end_line:
        return lines[0][span.column - 1 : span.end_column - 1]
    lines[0], lines[-1] = lines[0][span.column - 1 :], lines[-1][: span.end_column - 1]
    return " ".join(line.split("#")[0].strip() for line in lines)


def words(expression: Expr, scope: Scope | None = None) -> str:
    """An expression as it is written, a guard's parameters as what they stand for."""
    match expression:
        case Name(name):
            found = scope.names.get(name) if scope is not None else None
            if isinstance(found, Argument):
                return words(found.expression, found.scope)
            return name
        case Literal(value):
            return _literal(value)
        case Field(base, name):
            return f"{_inside(base, scope)}.{name}"
        case Index(base, index):
            return f"{_inside(base, scope)}[{words(index, scope)}]"
        case Call():
            return _call(expression, scope)
        case With(base, fields):
            given = ", ".join(f"{name} = {words(value, scope)}" for name, value in fields)
            return f"{_inside(base, scope)} with {{{given}}}"
        case Unary(operator, operand):
            space = " " if operator == "not" else ""
            return f"{operator}{space}{_inside(operand, scope)}"
        case ListOf(elements, is_tuple):
            inner = ", ".join(words(each, scope) for each in elements)
            return f"({inner})" if is_tuple else f"[{inner}]"
        case _:
            return _compound(expression, scope)


def _compound(expression: Expr, scope: Scope | None) -> str:
    match expression:
        case Binary(operator, left, right):
            strength = _STRENGTH.get(operator, 0)
            sides = _term(left, scope, strength), _term(right, scope, strength + 1)
            return f"{sides[0]} {operator} {sides[1]}"
        case Compare(first, rest):
            parts = [_side(first, scope)]
            parts += [f"{operator} {_side(each, scope)}" for operator, each in rest]
            return " ".join(parts)
        case Member(operand, choices, negated):
            word = "not in" if negated else "in"
            return f"{_side(operand, scope)} {word} {_choices(choices, scope)}"
        case Logical(operator, operands):
            return f" {operator} ".join(_operand(each, operator, scope) for each in operands)
        case Conditional(then, condition, otherwise):
            parts = [words(each, scope) for each in (then, condition, otherwise)]
            return f"{parts[0]} if {parts[1]} else {parts[2]}"
        case _:
            raise AssertionError(expression)


def _call(call: Call, scope: Scope | None) -> str:
    given = [words(each, scope) for each in call.arguments]
    given += [f"{name} = {words(value, scope)}" for name, value in call.keywords]
    return f"{call.function}({', '.join(given)})"


def _choices(choices: tuple[Expr, ...] | str, scope: Scope | None) -> str:
    if isinstance(choices, str):
        return choices
    return "{" + ", ".join(words(each, scope) for each in choices) + "}"


def _inside(expression: Expr, scope: Scope | None) -> str:
    text = words(expression, scope)
    return f"({text})" if isinstance(_meant(expression, scope), _COMPOUND) else text


def _term(expression: Expr, scope: Scope | None, strength: int) -> str:
    """A side of an arithmetic operator: what binds less strongly needs parentheses."""
    meant = _meant(expression, scope)
    if isinstance(meant, Binary) and _STRENGTH.get(meant.operator, 0) >= strength:
        return words(expression, scope)
    return _inside(expression, scope)


def _side(expression: Expr, scope: Scope | None) -> str:
    """A side of a comparison: arithmetic needs no parentheses there."""
    meant = _meant(expression, scope)
    return words(expression, scope) if isinstance(meant, Binary) else _inside(expression, scope)


def _operand(expression: Expr, operator: str, scope: Scope | None) -> str:
    """Between ``and`` and ``or``: comparisons need no parentheses there."""
    text = words(expression, scope)
    weaker = isinstance(expression, Logical) and (expression.operator, operator) == ("or", "and")
    return f"({text})" if weaker or isinstance(expression, Conditional) else text


def _meant(expression: Expr, scope: Scope | None) -> Expr:
    found = scope.names.get(expression.id) if isinstance(expression, Name) and scope else None
    return found.expression if isinstance(found, Argument) else expression


def _literal(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
