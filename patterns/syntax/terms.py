"""Terms: patterns and templates share one form."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .expressions import Expr
from .source import Span


class Arity(Enum):
    """How often an operand stands: once, at most once (``?``), or as a list of one up (``...``)."""

    ONE = ""
    OPTIONAL = "?"
    REPEATED = "..."


class Presence(Enum):
    """How often a node stands around its first operand: once, ``F?(x)``, ``F*(x)``, ``F+(x)``."""

    ONCE = ""
    OPTIONAL = "?"
    ANY = "*"
    SOME = "+"


@dataclass(frozen=True, slots=True)
class OpName:
    """An op, op set or fragment; ``slot`` and ``suffix`` are those of ``QLinear{op}Suffix``.

    The domain is ``""`` where none or ``ai.onnx`` is written.
    """

    domain: str
    name: str
    slot: str | None
    suffix: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """``name = value``: a match or capture in a pattern, a value in a template; ``?``: optional."""

    name: str
    value: Expr
    optional: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RestAttributes:
    """``*attrs``: every attribute not named beside it; ``capture`` is None for ``*_``."""

    capture: str | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropAttribute:
    """``name = _``: the attribute may have any value and is dropped knowingly."""

    name: str
    span: Span = field(compare=False, repr=False)


AttributeItem = Attribute | RestAttributes | DropAttribute


@dataclass(frozen=True, slots=True)
class Apply:
    """An op, op set or fragment applied to operands: a node of the pattern or of the template."""

    op: OpName
    label: str | None
    attributes: tuple[AttributeItem, ...] | None
    operands: tuple[Term, ...]
    borrowed: bool
    commuted: bool
    presence: Presence
    arity: Arity
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Capture:
    """``x`` or ``x.scale``, binding or naming a value."""

    name: str
    part: str | None
    arity: Arity
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """``(A(x) | B(x))``."""

    choices: tuple[Term, ...]
    arity: Arity
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """``(x, x.scale, x.zero_point)...``: several operands repeated together."""

    operands: tuple[Term, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Wildcard:
    """``_``: any value; ``_?`` any value or none; ``_...`` all that is left."""

    arity: Arity
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Absent:
    """``none``: the operand must be, or is left, absent."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rest:
    """``*rest``: all operands not named before it, passed on as they are."""

    capture: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a list of numbers: a constant operand of that value, in any shape."""

    value: int | float | tuple[int | float, ...]
    span: Span = field(compare=False, repr=False)


Term = Apply | Capture | Alternatives | Group | Wildcard | Absent | Rest | Constant
