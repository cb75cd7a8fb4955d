"""The syntax tree of a rule file: frozen dataclasses, each with the span of text it came from.

What a name means (capture, option, element type, function) is decided by the checker and the
compiler; the tree only says what was written.  Terms are shared by both sides of a rule: a pattern
is a term read against a graph, a template is a term built into one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True)
class Source:
    """A rule file's name, as shown in messages, and its whole text."""

    name: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of text in a source; lines and columns count from 1."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int


# ---- expressions ------------------------------------------------------------------------------


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


# ---- terms ------------------------------------------------------------------------------------


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
    """``name = value``: a match or a capture in a pattern, a value in a template; ``?``: optional."""

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


# ---- statements and clauses -------------------------------------------------------------------


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


# ---- items of a file --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    title: str
    phase: str | None
    priority: int
    override: bool
    expands: bool
    pattern: tuple[Statement, ...]
    clauses: tuple[Clause, ...]
    arrow: str
    template: tuple[Assign, ...]
    claim: Claim | None
    then: tuple[str, ...]
    """Names of rules one of which must match what this rule has made, or it is undone."""
    compare_codes: str | None
    hint: str
    doc: str
    span: Span = field(compare=False, repr=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way a fragment can look, with conditions of its own."""

    term: Term
    conditions: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fragment:
    """``pattern y = Q(v) = …``: a named pattern with parameters and, where named, a result."""

    name: str
    result: str | None
    parameters: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    span: Span = field(compare=False, repr=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Guard:
    """``guard g(x, y) = a, b``: named conditions, all of which must hold."""

    name: str
    parameters: tuple[str, ...]
    conditions: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OpSet:
    name: str
    ops: tuple[OpName, ...]
    commutative: bool
    span: Span = field(compare=False, repr=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Property:
    """``property channel_axis(op) = {Conv: 0, …}``: one expression an op, over ``op.ATTRIBUTE``."""

    name: str
    parameter: str
    rows: tuple[tuple[OpName, Expr], ...]
    span: Span = field(compare=False, repr=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    """An element type, or a type variable of the declaration."""
    arity: Arity
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    name: str
    type: str
    """One of int, float, string, tensor, ints, floats, strings."""
    default: Expr | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OpDeclaration:
    """``op com.acme::Foo<alpha: float = 1.0>(x: T, s: f32, z: T?) -> y: T where T in {u8, i8}``."""

    op: OpName
    attributes: tuple[AttributeDeclaration, ...]
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    type_variables: tuple[tuple[str, tuple[str, ...]], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Include:
    path: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PythonImport:
    """The escape hatch: functions of a named Python module, off for untrusted files."""

    module: str
    names: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Phase:
    """``phase NAME``: the phase of the rules that follow in this file."""

    name: str
    span: Span = field(compare=False, repr=False)


Setting = bool | int | float | str
"""What an option can be set to."""


@dataclass(frozen=True, slots=True)
class Option:
    """``option target = "x86" in {"x86", "arm"} "which CPU"``.

    No choices: any value of the default's type.
    """

    name: str
    default: Setting
    choices: tuple[Setting, ...]
    doc: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PackHeader:
    name: str
    title: str
    parents: tuple[str, ...]
    needs: tuple[tuple[str, int], ...]
    """Domain (``""`` for ai.onnx) and the least opset version."""
    phases: tuple[str, ...]
    without: tuple[str, ...]
    """Rules of a parent that are switched off."""
    options: tuple[Option, ...]
    span: Span = field(compare=False, repr=False)


Item = (
    PackHeader
    | Include
    | PythonImport
    | OpDeclaration
    | OpSet
    | Property
    | Fragment
    | Guard
    | Phase
    | Rule
)


@dataclass(frozen=True, slots=True)
class File:
    source: Source
    items: tuple[Item, ...]
