"""What the names in an expression refer to, and which of them may be absent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import TypeVar

from ..functions import Accepts, functions
from ..packs.pack import Pack
from ..syntax import (
    Binary,
    Call,
    Compare,
    Conditional,
    Expr,
    Field,
    Index,
    ListOf,
    Logical,
    Member,
    Name,
    Unary,
    With,
)
from .flat import ABSENT, Argument, AttributeOf, Binding, Flat, FlatValue, NotThere, Scope

T = TypeVar("T")


def _once(kind: str, expression: Expr, scope: Scope, flat: Flat, find: Callable[[], T]) -> T:
    """What ``find`` finds, looked up where it has been found before."""
    key = (kind, id(expression), id(scope))
    known = flat.references.get(key)
    if known is None:
        known = flat.references[key] = (expression, scope, find())
    found: T = known[2]
    return found


def binding_of(expression: Expr, scope: Scope, flat: Flat) -> Binding | None:
    """What a name, or a part of one, is bound to; None for every other expression."""
    if isinstance(expression, Name):
        found = scope.find(expression.id)
        if isinstance(found, Argument):
            return binding_of(found.expression, found.scope, flat)
        return found
    if isinstance(expression, Field):
        base = binding_of(expression.base, scope, flat)
        if isinstance(base, FlatValue):
            return flat.parts.get((base, expression.name))
    return None


def operands_of(expression: Expr) -> Iterator[Expr]:
    """The expressions directly inside one."""
    match expression:
        case Field(base=base):
            yield base
        case Index(base, index):
            yield base
            yield index
        case Call():
            yield from expression.arguments
            yield from (value for _, value in expression.keywords)
        case With(base, fields):
            yield base
            yield from (value for _, value in fields)
        case Unary(operand=operand):
            yield operand
        case Binary(left=left, right=right):
            yield left
            yield right
        case Compare(first, rest):
            yield first
            yield from (operand for _, operand in rest)
        case Member(operand, choices):
            yield operand
            if not isinstance(choices, str):
                yield from choices
        case Logical(operands=operands) | ListOf(operands):
            yield from operands
        case Conditional(then, condition, otherwise):
            yield then
            yield condition
            yield otherwise
        case _:
            pass


def bindings_in(expression: Expr, scope: Scope, flat: Flat, pack: Pack) -> tuple[Binding, ...]:
    """What the names in an expression are bound to, but for those that it only asks ``present`` of.

    A guard is looked into: what its conditions read counts.
    """

    def find() -> tuple[Binding, ...]:
        return tuple(_bindings_in(expression, scope, flat, pack))

    return _once("bindings", expression, scope, flat, find)


def _bindings_in(expression: Expr, scope: Scope, flat: Flat, pack: Pack) -> Iterator[Binding]:
    if isinstance(expression, Call):
        if expression.function == "present":
            return
        guard = pack.guards.get(expression.function)
        if guard is not None:
            inner = guard_scope(expression, scope, flat, pack)
            for condition in guard.conditions:
                yield from bindings_in(condition, inner, flat, pack)
            return
    if isinstance(expression, Name):
        found = scope.find(expression.id)
        if isinstance(found, Argument):
            yield from bindings_in(found.expression, found.scope, flat, pack)
        elif found is not None:
            yield found
        return
    if isinstance(expression, Field):
        part = binding_of(expression, scope, flat)
        if isinstance(part, AttributeOf | NotThere):
            yield part
    if isinstance(expression, Call):
        yield from _absent_grids(expression, scope, flat)
    for operand in operands_of(expression):
        yield from bindings_in(operand, scope, flat, pack)


def _absent_grids(call: Call, scope: Scope, flat: Flat) -> Iterator[NotThere]:
    """A function that reads the grid of a tensor names its scale."""
    function = functions().get(call.function)
    if function is None:
        return
    for parameter, argument in zip_longest(function.parameters, call.arguments):
        accepts = parameter.accepts if parameter is not None else function.parameters[-1].accepts
        if argument is not None and accepts in (Accepts.SCALE, Accepts.QUANTIZED):
            found = binding_of(argument, scope, flat)
            if isinstance(found, FlatValue) and isinstance(flat.part(found, "scale"), NotThere):
                yield ABSENT


def guard_scope(call: Call, scope: Scope, flat: Flat, pack: Pack) -> Scope:
    """The scope of a guard's conditions: its parameters stand for the arguments."""

    def find() -> Scope:
        guard = pack.guards[call.function]
        given = dict(zip(guard.parameters, call.arguments, strict=False)) | dict(call.keywords)
        return Scope({name: Argument(value, scope) for name, value in given.items()})

    return _once("guard", call, scope, flat, find)
