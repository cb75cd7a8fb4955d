"""Going through the terms and expressions of the syntax tree."""

from __future__ import annotations

from ..syntax import (
    Alternatives,
    Apply,
    Binary,
    Call,
    Compare,
    Conditional,
    Expr,
    Field,
    Group,
    Index,
    ListOf,
    Literal,
    Logical,
    Member,
    Name,
    Term,
    Unary,
    With,
)


def parts_of_term(term: Term) -> tuple[Term, ...]:
    """The terms directly inside a term."""
    if isinstance(term, (Apply, Group)):
        return term.operands
    return term.choices if isinstance(term, Alternatives) else ()


def subterms(term: Term) -> list[Term]:
    """The term and every term inside it, outer ones first."""
    found = [term]
    for each in found:
        found.extend(parts_of_term(each))
    return found


def nodes(term: Term) -> list[Apply]:
    """Every op, op set or fragment applied in a term, outer ones first."""
    return [part for part in subterms(term) if isinstance(part, Apply)]


def parts_of_expression(expression: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside an expression."""
    match expression:
        case Name() | Literal():
            return ()
        case Field():
            return (expression.base,)
        case Index():
            return (expression.base, expression.index)
        case Call():
            return expression.arguments + tuple(value for _, value in expression.keywords)
        case With():
            return (expression.base, *(value for _, value in expression.fields))
        case Unary():
            return (expression.operand,)
        case Binary():
            return (expression.left, expression.right)
        case Compare():
            return (expression.first, *(value for _, value in expression.rest))
        case Member():
            choices = expression.choices
            return (expression.operand, *(() if isinstance(choices, str) else choices))
        case Logical():
            return expression.operands
        case Conditional():
            return (expression.then, expression.condition, expression.otherwise)
        case ListOf():
            return expression.elements


def subexpressions(expression: Expr) -> list[Expr]:
    """The expression and every expression inside it, outer ones first."""
    found = [expression]
    for each in found:
        found.extend(parts_of_expression(each))
    return found


def names_in(expression: Expr) -> frozenset[str]:
    """Every name that an expression reads."""
    return frozenset(each.id for each in subexpressions(expression) if isinstance(each, Name))


def count(number: int, thing: str) -> str:
    """``1 operand``, ``2 operands``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
