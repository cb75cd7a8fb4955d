"""Statements, clauses and claims of a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .expressions import Expr
from .source import Span
from .terms import Arity, OpName, Term


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    arity: Arity
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """``y = term`` or ``q, s, z = term``: names the outputs of the term's node."""

    targets: tuple[Target, ...]
    term: Term
    span: Span = field(compare=False, repr=False)


class Quantifier(Enum):
    EACH = "each"
    SOME = "some"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Use:
    """``each use of y is d = DQ(y)``: what the consumers of a value are.

    ``each`` binds the names inside to lists, one element a consumer, and needs one consumer at
    least; ``some`` binds them to the first consumer that fits; ``no`` binds nothing.
    """

    quantifier: Quantifier
    value: str
    result: str | None
    term: Term
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Connected:
    """``connected t from y through OPS``: t is every tensor on y's grid, joined to it by OPS."""

    name: str
    start: str
    ops: tuple[OpName, ...]
    span: Span = field(compare=False, repr=False)


Statement = Assign | Use | Connected


@dataclass(frozen=True, slots=True)
class Where:
    conditions: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let:
    bindings: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)


Clause = Where | Let


@dataclass(frozen=True, slots=True)
class Exact:
    """Every bit of every output is the same."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WithinQuanta:
    """No element of ``tensor``'s integer value moves by more than ``quanta``; at most ``share``
    (a fraction, 0.1 unless stated) of the elements move at all."""

    quanta: float
    tensor: str
    share: float
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WithinRelative:
    """A float output moves by at most ``tolerance`` times its largest magnitude."""

    tolerance: float
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lossy:
    """The values of ``tensor``, a tensor the rule makes, are rounded by up to ``quanta`` of its own
    quanta; all else is exact arithmetic on the rounded tensor."""

    quanta: float
    tensor: str
    span: Span = field(compare=False, repr=False)


Claim = Exact | WithinQuanta | WithinRelative | Lossy
