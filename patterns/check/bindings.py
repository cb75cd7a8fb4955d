"""What the names of a pattern stand for: values, labelled nodes, attributes, lists.

A pattern binds a name where it first stands; every further place is the same thing again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from qrewrite.engine.dtypes import NUMBERS

from ..syntax import Apply, Capture, Expr, Span, Term
from .walk import subterms

RESERVED = frozenset(NUMBERS) | {"opset", "options"}


class Role(Enum):
    """What a name is; the value is how messages say it."""

    VALUE = "a value"
    NODE = "a node"
    ATTRIBUTE = "an attribute"
    ATTRIBUTES = "a set of attributes"
    OPERANDS = "a rest of operands"


@dataclass(slots=True)
class Binding:
    """A name, and what is known of it over all the places where it stands."""

    name: str
    role: Role
    span: Span
    repeated: bool
    optional: bool
    listed: bool = False
    """A ``...`` stands on the name itself; under other repetition a single value stays one."""
    parts: set[str] = field(default_factory=set)
    places: int = 1
    """How often the pattern names it."""
    op: Apply | None = None
    """The node of a label, of an attribute, or of a set of attributes."""


@dataclass(slots=True)
class Bindings:
    names: dict[str, Binding] = field(default_factory=dict)
    expressions: list[Expr] = field(default_factory=list)
    """Values that attributes must have: read, not bound."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Names bound where nothing outside can see them, and where that is."""

    def role(self, name: str) -> Role | None:
        binding = self.names.get(name)
        return None if binding is None else binding.role


@dataclass(frozen=True, slots=True)
class Context:
    """Where a term stands."""

    repeated: bool = False
    optional: bool = False
    listed: bool = False
    """The ``...`` stands on the name itself."""


def captures_of(term: Term) -> frozenset[str]:
    """Names of the values that a term reads or binds."""
    return frozenset(each.name for each in subterms(term) if isinstance(each, Capture))
