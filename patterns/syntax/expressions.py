"""Expressions: conditions and values."""

from __future__ import annotations

from dataclasses import dataclass, field

from .source import Span


@dataclass(frozen=True, slots=True)
class Name:
    """A capture, let binding, guard parameter, element type (``u8``) or ``opset``."""

    id: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A number (``-1`` too), string, ``true``, ``false`` or ``none``."""

    value: int | float | str | bool | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Field:
    """``x.scale``: a part of a capture, an attribute of a captured op, or ``options.NAME``."""

    base: Expr
    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    base: Expr
    index: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function, a named guard or a per-op property applied to arguments."""

    function: str
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class With:
    """``w with {scale = s}``: a copy of a quantized tensor with other parts."""

    base: Expr
    fields: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``-x`` or ``not x``."""

    operator: str
    operand: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic: one of ``+ - * / // %``; on lists ``+`` concatenates."""

    operator: str
    left: Expr
    right: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """``a < b <= c``: each neighbouring pair is compared, as in Python."""

    first: Expr
    rest: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """``x in {a, b}``, ``x not in {a}`` or ``op in OPS`` where OPS is a declared op set."""

    operand: Expr
    choices: tuple[Expr, ...] | str
    negated: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Logical:
    """``and`` / ``or`` over two operands or more."""

    operator: str
    operands: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """``then if condition else otherwise``."""

    then: Expr
    condition: Expr
    otherwise: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListOf:
    """``[a, b]``, or a tuple ``(a, b)``."""

    elements: tuple[Expr, ...]
    is_tuple: bool
    span: Span = field(compare=False, repr=False)


Expr = (
    Name
    | Literal
    | Field
    | Index
    | Call
    | With
    | Unary
    | Binary
    | Compare
    | Member
    | Logical
    | Conditional
    | ListOf
)
