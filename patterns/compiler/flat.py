"""A pattern with nothing left to expand: nodes and values that know each other, and conditions.

One rule gives several: one for each choice among its alternatives, optional operands, optional
nodes and orders of commuted operands.  What repeats (``...``, ``each use``) is a pattern of its
own that is matched once an element.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..syntax import (
    AttributeItem,
    Connected,
    Expr,
    Quantifier,
    Span,
    Target,
)


class Role(Enum):
    ROOT = "root"
    """Its outputs may have any consumers; it is replaced."""
    OWNED = "owned"
    """Interior: its outputs have no consumer outside the match and are no graph outputs;
    removed."""
    BORROWED = "borrowed"
    """Read: may be shared or a graph output; removed by the engine once it is dead."""


@dataclass(eq=False, slots=True)
class FlatValue:
    """A value of the pattern; compared by identity."""

    name: str
    home: Flat
    """The pattern that binds it; one inside that, which repeats, may use it."""
    producer: FlatNode | FlatChain | None = None
    position: int = 0
    """Which output of the producer."""
    each: Each | None = None
    """The repetition of which this stands for the list of one value an element."""
    owned: bool = False
    """Of what a repeated pattern starts from: its producer outside is owned."""


@dataclass(frozen=True, slots=True)
class Form:
    """One op a node may be, with the attributes written for it."""

    op: str
    attributes: tuple[AttributeItem, ...] | None


@dataclass(frozen=True, slots=True)
class ValueOperand:
    value: FlatValue
    optional: bool = False
    """May be absent at run time (a zero point)."""


@dataclass(frozen=True, slots=True)
class AnyOperand:
    optional: bool


@dataclass(frozen=True, slots=True)
class NoOperand:
    """The operand is absent."""


@dataclass(frozen=True, slots=True)
class NumberOperand:
    """A constant whose elements are these numbers."""

    value: int | float | tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class RestOperands:
    """All operands from here on."""


@dataclass(frozen=True, slots=True)
class EachOperand:
    """One group of operands or more, each matched by a pattern of its own."""

    each: Each


Operand = ValueOperand | AnyOperand | NoOperand | NumberOperand | RestOperands | EachOperand


@dataclass(eq=False, slots=True)
class FlatNode:
    forms: tuple[Form, ...]
    span: Span
    operands: list[Operand] = field(default_factory=list)
    outputs: list[FlatValue | None] = field(default_factory=list)
    """Outputs that the pattern names or consumes; None: not looked at."""
    each_output: Each | None = None
    """All outputs, as a list (``part... = Split(x)``)."""
    borrowed: bool = False
    kept: bool = False
    """An output is used by the template as it is, or is only looked at."""
    role: Role = Role.ROOT
    optional: bool = False
    """Other variants of the rule lack it (``Relu?``)."""
    each: Each | None = None

    @property
    def ops(self) -> tuple[str, ...]:
        return tuple(form.op for form in self.forms)


@dataclass(eq=False, slots=True)
class FlatChain:
    """Any number of nodes, each the sole consumer of the one before and taking it as first
    operand."""

    element: tuple[Flat, ...]
    at_least_one: bool
    borrowed: bool
    source: FlatValue
    result: FlatValue
    span: Span


class Source(Enum):
    OPERANDS = "operands"
    OUTPUTS = "outputs"
    LISTS = "lists"
    USES = "uses"


@dataclass(eq=False, slots=True)
class Each:
    """A pattern matched once an element, and where its elements come from."""

    source: Source
    span: Span
    variants: tuple[Flat, ...] = ()
    """Tried in order for every element."""
    slots: list[FlatValue | FlatNode | FlatChain] = field(default_factory=list)
    """What stands outside for the lists that are made; ``exports`` of each variant are in this
    order."""
    quantifier: Quantifier = Quantifier.EACH
    over: tuple[FlatValue, ...] = ()
    """The lists (LISTS) or the value whose uses (USES) are gone through."""
    node: FlatNode | None = None
    removes: bool = False
    """Nodes of the elements are replaced with the rest of the match."""


@dataclass(frozen=True, slots=True)
class AttributeOf:
    """An attribute of a node; ``part_of`` where it is a part of a quantized tensor (``x.axis``)."""

    node: FlatNode
    attribute: str
    optional: bool
    part_of: FlatValue | None = None


@dataclass(frozen=True, slots=True)
class OperandsOf:
    """The operands of a node from a position on."""

    node: FlatNode
    first: int


@dataclass(frozen=True, slots=True)
class AttributesOf:
    """The attributes of a node but those named."""

    node: FlatNode
    named: frozenset[str]


@dataclass(frozen=True, slots=True)
class Argument:
    """What a guard's parameter stands for: an expression of the place where it is called."""

    expression: Expr
    scope: Scope


@dataclass(frozen=True, slots=True)
class Computed:
    """A name bound by ``let``."""

    name: str
    absent: bool = False
    """It is computed from an optional capture that this variant lacks."""
    named_after: FlatValue | None = None
    """A constant made of it gets its name from this value."""
    each: Each | None = None
    """It is a list, one an element of this repetition."""


@dataclass(frozen=True, slots=True)
class NotThere:
    """An optional capture that this variant lacks."""


ABSENT = NotThere()

Binding = (
    FlatValue
    | FlatNode
    | FlatChain
    | AttributeOf
    | OperandsOf
    | AttributesOf
    | Argument
    | Computed
    | NotThere
)


@dataclass(eq=False, slots=True)
class Scope:
    """What names mean at one place: in a rule, in one use of a fragment or in one call of a
    guard."""

    names: dict[str, Binding] = field(default_factory=dict)
    operands: dict[str, Operand] = field(default_factory=dict)
    """Parameters of a fragment that stand for something else than a value."""
    known: frozenset[str] = frozenset()
    """Names that some variant binds: where they are not in ``names`` they are absent."""

    def find(self, name: str) -> Binding | None:
        found = self.names.get(name)
        return ABSENT if found is None and name in self.known else found


@dataclass(frozen=True, slots=True)
class Condition:
    expression: Expr
    scope: Scope
    attribute: AttributeOf | None = None
    """The attribute whose value the expression must be (``<axis = 1 + n>``)."""


@dataclass(eq=False, slots=True)
class Flat:
    """One variant of a rule's pattern, or of what repeats inside it."""

    scope: Scope
    nodes: list[FlatNode] = field(default_factory=list)
    chains: list[FlatChain] = field(default_factory=list)
    eaches: list[Each] = field(default_factory=list)
    """Repetitions that start from uses or from other lists; those of operands stand at their
    node."""
    conditions: list[Condition] = field(default_factory=list)
    parts: dict[tuple[FlatValue, str], FlatValue | AttributeOf | NotThere] = field(
        default_factory=dict
    )
    entries: tuple[FlatValue, ...] = ()
    """Of a repeated pattern: the values it starts from, one of each operand of a group."""
    entry_node: FlatNode | None = None
    """Of a pattern of uses and of chains: the node it starts from."""
    exports: list[FlatValue | FlatNode | FlatChain | None] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    connected: list[tuple[Connected, FlatValue]] = field(default_factory=list)
    references: dict[tuple[str, int, int], tuple[object, object, Any]] = field(default_factory=dict)
    """What has been found out about expressions, by their identity and that of their scope, which
    are kept so that no other object gets it."""

    def part(self, value: FlatValue, part: str) -> FlatValue | AttributeOf | NotThere | None:
        """``ABSENT``: only other variants of the rule have this part."""
        return self.parts.get((value, part))


Consumers = dict[FlatValue, list[FlatNode | FlatChain | Each]]


def consumers_in(flat: Flat) -> Consumers:
    """Who takes each value of a pattern; the operands of an element stand for its node."""
    found: Consumers = {}
    for node in flat.nodes:
        for operand in node.operands:
            if isinstance(operand, ValueOperand):
                found.setdefault(operand.value, []).append(node)
    for chain in flat.chains:
        found.setdefault(chain.source, []).append(chain)
    for each in flat.eaches:
        if each.source is Source.LISTS:
            for value in each.over:
                found.setdefault(value, []).append(each)
    return found
