"""The items of a rule file."""

from __future__ import annotations

from dataclasses import dataclass, field

from .expressions import Expr
from .source import Source, Span
from .statements import Assign, Claim, Clause, Statement
from .terms import Arity, OpName, Term


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
