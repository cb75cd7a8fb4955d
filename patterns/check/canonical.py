"""Expressions as text, the same for the same meaning where that is plain, to be compared."""

from __future__ import annotations

from collections.abc import Mapping

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
    Unary,
    With,
)

Renaming = Mapping[str, str]
"""The text that stands for a name: the argument of a guard, the capture of another rule."""

SWAPPED = {">": "<", ">=": "<="}
UNORDERED = ("==", "!=", "+", "*")


def canonical(expression: Expr, names: Renaming) -> str:
    """The text of an expression with its names replaced."""
    match expression:
        case Name(name):
            return names.get(name, name)
        case Literal(value):
            return _literal(value)
        case Field(base, name):
            return f"{canonical(base, names)}.{name}"
        case Index(base, index):
            return f"{canonical(base, names)}[{canonical(index, names)}]"
        case Call(function, arguments, keywords):
            given = [canonical(each, names) for each in arguments]
            given += sorted(f"{key}={canonical(value, names)}" for key, value in keywords)
            return f"{function}({','.join(given)})"
        case With(base, fields):
            given = sorted(f"{key}={canonical(value, names)}" for key, value in fields)
            return f"{canonical(base, names)} with {','.join(given)}"
        case Unary(operator, operand):
            return f"({operator} {canonical(operand, names)})"
        case Conditional(then, condition, otherwise):
            parts = (canonical(each, names) for each in (then, condition, otherwise))
            return f"({' ? '.join(parts)})"
        case ListOf(elements):
            return f"[{','.join(canonical(each, names) for each in elements)}]"
        case _:
            return _operation(expression, names)


def _operation(expression: Binary | Compare | Logical | Member, names: Renaming) -> str:
    match expression:
        case Binary(operator, left, right):
            return relation(canonical(left, names), operator, canonical(right, names))
        case Compare(first, rest):
            operands = [canonical(each, names) for each in (first, *(value for _, value in rest))]
            pairs = zip(operands, rest, operands[1:], strict=False)
            return " and ".join(sorted(relation(one, pair[0], other) for one, pair, other in pairs))
        case Logical(operator, operands):
            parts = sorted(canonical(each, names) for each in operands)
            return f"({f' {operator} '.join(parts)})"
        case Member(operand, choices, negated):
            within = "not in" if negated else "in"
            if isinstance(choices, str):
                return f"({canonical(operand, names)} {within} {choices})"
            members = ",".join(sorted(canonical(each, names) for each in choices))
            return f"({canonical(operand, names)} {within} {{{members}}})"


def relation(left: str, operator: str, right: str) -> str:
    """``left OPERATOR right``, with the sides in a fixed order where that does not matter."""
    if operator in SWAPPED:
        left, operator, right = right, SWAPPED[operator], left
    elif operator in UNORDERED and right < left:
        left, right = right, left
    return f"({left} {operator} {right})"


def _literal(value: int | float | str | bool | None) -> str:
    if isinstance(value, float) and value.is_integer():
        return repr(int(value))
    return repr(value)
