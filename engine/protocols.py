"""What the engine asks of rules, phases and rewrites, whatever language they were written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .graph import Graph, Model, Node, Value

Fire = Callable[["Rule", tuple[object, ...]], bool]
"""Called by a matcher with a rule that matches and its bindings. True: the rewrite was applied,
the graph has changed, the matcher must return True at once. False: not applied, try the next
rule."""

Matcher = Callable[[Node, Fire], bool]
"""Tries rules at a node, in their order; returns whether one was applied."""


@dataclass(slots=True)
class Replacement:
    """What a rule wants done; nothing of it is part of the graph before it is committed."""

    anchor: Node
    """Names and provenance of the new nodes derive from it."""
    removed: list[Node]
    """Roots and owned nodes. Borrowed ones are not listed: the engine removes what becomes dead."""
    nodes: list[Node] = field(default_factory=list)
    """New nodes in topological order. What stands for an old root output is the old Value."""
    forward: list[tuple[Value, Value]] = field(default_factory=list)
    """(old root output, existing value or new constant that stands for it)."""
    retype: list[tuple[Value, int]] = field(default_factory=list)
    """Values whose element type changes, with the new type: whole connected sets."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule sees of its surroundings when it builds a replacement."""

    model: Model
    graph: Graph
    """The graph of the matched nodes: new nodes and constants belong to it."""
    options: Mapping[str, object]


class Rule(Protocol):
    """One rewrite rule."""

    @property
    def name(self) -> str: ...

    @property
    def pack(self) -> str: ...

    @property
    def expands(self) -> bool:
        """It may leave more nodes than it found."""

    @property
    def then(self) -> tuple[str, ...]:
        """Names of rules one of which must apply to what this rule made, or it is undone."""

    @property
    def anchors(self) -> tuple[str, ...]:
        """Ops, as in `Node.op`, at which it can match."""

    def matcher(self) -> Matcher:
        """A matcher of this rule alone."""

    def rewrite(self, bindings: tuple[object, ...], context: Context) -> Replacement | None:
        """What to do at a match; None, or raising Refused with the reason, if nothing after all."""


def full_name(rule: Rule) -> str:
    """``pack/rule``, as in reports, errors and the provenance of nodes."""
    return f"{rule.pack}/{rule.name}" if rule.pack else rule.name


class Phase(Protocol):
    """Rules that are applied together until none of them matches."""

    @property
    def name(self) -> str: ...

    @property
    def rules(self) -> Sequence[Rule]: ...

    def matcher(self, op: str) -> Matcher | None:
        """All rules of the phase that are anchored at `op`, in their order; None if none is."""
