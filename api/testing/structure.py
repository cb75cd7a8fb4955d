"""The nodes that one reading of a pattern asks for.

A pattern stands for many small graphs: alternatives, optional operands, chains and lists are
settled here one way, by drawing, and what was settled is recorded so that coverage can be told.
Nothing of the compiler is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from qrewrite.patterns.syntax import (
    Alternatives,
    Apply,
    Capture,
    Expr,
    Group,
    Rest,
    Span,
    Term,
)

Slot = str
"""A value of the graph to be made: a capture (``x``), an element of a list (``x#0``), a part
(``x.scale``) or a value without a name (``_3``)."""


@dataclass
class PatternNode:
    """One node to be made."""

    op: str
    """``Conv`` or ``com.microsoft::QLinearAdd``."""
    inputs: list[Slot | None]
    outputs: list[Slot]
    fixed: dict[str, Expr] = field(default_factory=dict)
    """Attributes that must have a stated value."""
    captured: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Attribute -> name that captures it, and whether it may be absent."""
    free: bool = False
    """Attributes not named may have any value (``*attrs``); else they have their default."""
    loose: set[str] = field(default_factory=set)
    """Attributes that may have any value one by one (``a = _``)."""
    rest: str | None = None
    """The name that takes all operands not named."""
    label: str | None = None
    borrowed: bool = False


@dataclass(frozen=True)
class Choice:
    """One way to settle a place of a rule: the unit of coverage."""

    place: str
    taken: str

    def __str__(self) -> str:
        return f"{self.place}: {self.taken}"


@dataclass
class Structure:
    """The nodes, and what the names of the rule stand for in them."""

    nodes: list[PatternNode] = field(default_factory=list)
    captures: dict[str, list[Slot]] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    """Names (and parts, as ``x.zero_point``) of optional operands left out."""
    labels: dict[str, list[PatternNode]] = field(default_factory=dict)
    literals: dict[Slot, int | float | tuple[int | float, ...]] = field(default_factory=dict)
    conditions: list[Expr] = field(default_factory=list)
    """Those of fragments, with parameters replaced by slots."""
    roots: list[Slot] = field(default_factory=list)
    """Outputs of the statements, the values a rule must keep."""
    unused: dict[Slot, str] = field(default_factory=dict)
    """Values of which the pattern says what may not use them -> that op."""
    hidden: set[Slot] = field(default_factory=set)
    """Values that must be no graph outputs."""
    lone: set[Slot] = field(default_factory=set)
    """Values that must have no further uses."""
    shared: set[Slot] = field(default_factory=set)
    """Values that must have a further use."""
    shown: set[Slot] = field(default_factory=set)
    """Values that must be graph outputs."""
    fed: set[Slot] = field(default_factory=set)
    """Values that must be graph inputs."""
    choices: list[Choice] = field(default_factory=list)
    counter: int = 0

    def fresh(self) -> Slot:
        self.counter += 1
        return f"_{self.counter}"

    def producer(self, slot: Slot) -> PatternNode | None:
        return next((node for node in self.nodes if slot in node.outputs), None)

    def consumers(self, slot: Slot) -> Iterator[PatternNode]:
        return (node for node in self.nodes if slot in node.inputs)

    def attribute_owner(self, name: str) -> tuple[PatternNode, str] | None:
        """The node and attribute that a name, or a part such as ``x.axis``, captures."""
        for node in self.nodes:
            for attribute, (capture, _) in node.captured.items():
                if capture == name:
                    return node, attribute
        return None


def place(span: Span, what: str) -> str:
    return f"{what} in {span.source.name.rpartition('/')[2]}:{span.line}:{span.column}"


def names_in(term: Term) -> list[str]:
    """The names that a term binds, in order."""
    match term:
        case Capture():
            return [term.name]
        case Apply():
            inside = [name for operand in term.operands for name in names_in(operand)]
            return ([term.label] if term.label else []) + inside
        case Alternatives():
            return [name for choice in term.choices for name in names_in(choice)]
        case Group():
            return [name for operand in term.operands for name in names_in(operand)]
        case Rest():
            return [term.capture]
        case _:
            return []
