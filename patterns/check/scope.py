"""The names that an expression may read, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..syntax import Apply, Expr, Rule
from .bindings import Binding, Bindings, Role

PARTS = ("type", "scale", "zero_point", "axis", "block_size", "output_dtype")


class Kind(Enum):
    """What an expression is; the value is how messages say it."""

    ANY = "anything"
    BOOL = "true or false"
    NUMBER = "a number"
    TEXT = "a string"
    TYPE = "an element type"
    TENSOR = "a tensor"
    LIST = "a list"
    NODE = "a node"
    ATTRIBUTES = "a set of attributes"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for in an expression."""

    kind: Kind
    parts: frozenset[str] | None = None
    """The parts that it has beside its type; None: not known."""
    optional: bool = False
    repeated: bool = False
    node: Apply | None = None


ROLE_KINDS = {
    Role.VALUE: Kind.TENSOR,
    Role.NODE: Kind.NODE,
    Role.ATTRIBUTE: Kind.ANY,
    Role.ATTRIBUTES: Kind.ATTRIBUTES,
    Role.OPERANDS: Kind.LIST,
}


def meaning_of(binding: Binding) -> Meaning:
    kind = ROLE_KINDS[binding.role]
    parts = frozenset(binding.parts) if binding.role is Role.VALUE else None
    return Meaning(kind, parts, binding.optional, binding.repeated, binding.op)


@dataclass(slots=True)
class Scope:
    """Names in scope at one place of a rule, fragment, guard or property."""

    names: dict[str, Meaning] = field(default_factory=dict)
    later: dict[str, Expr] = field(default_factory=dict)
    """Names that a let binds further down."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Names that are bound where this place cannot see them."""
    used: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    """Names reported as unbound: once is enough."""


def scope_of(bindings: Bindings, rule: Rule | None = None) -> Scope:
    """The scope right behind a pattern."""
    names = {name: meaning_of(binding) for name, binding in bindings.names.items()}
    scope = Scope(names, hidden=dict(bindings.hidden))
    if rule is not None:
        for clause in rule.clauses:
            for name, value in getattr(clause, "bindings", ()):
                scope.later[name] = value
    return scope


def scope_of_parameters(parameters: tuple[str, ...]) -> Scope:
    """The scope of a guard: nothing is known of its parameters."""
    return Scope({name: Meaning(Kind.ANY) for name in parameters})
