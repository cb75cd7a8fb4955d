"""A run that is written down: which rules fired where, with which bindings, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from qrewrite.engine.graph import Node, Value
from qrewrite.engine.protocols import Fire, Matcher, Rule

from ..compiler.flat import FlatValue
from ..program import CompiledPhase, Variant
from .anchored import things
from .closest import Patterns
from .values import node_name


@dataclass(frozen=True, slots=True)
class Firing:
    """One match of a rule, applied or refused."""

    phase: str
    rule: Rule
    node: Node
    """At which it is anchored."""
    bindings: tuple[Any, ...]
    applied: bool

    @property
    def name(self) -> str:
        return f"{self.rule.pack}/{self.rule.name}"

    def nodes(self) -> list[Node]:
        """The matched nodes that the rule's builder was given, and the anchor."""
        found = [self.node]
        found += [each for each in self.bindings[1:] if isinstance(each, Node)]
        return list(dict.fromkeys(found))


class Recorder:
    """Phases that do as those of a program do, and write down each match."""

    def __init__(
        self, phases: Iterable[CompiledPhase], stop_after: int | None = None, refused: bool = False
    ) -> None:
        self.firings: list[Firing] = []
        self.phases = [_RecordedPhase(phase, self) for phase in phases]
        self.refused = refused
        """Write down the matches that were not applied, too."""
        self._left = stop_after

    def fire(
        self, phase: str, rule: Rule, bindings: tuple[Any, ...], node: Node, fire: Fire
    ) -> bool:
        if self._left == 0:
            return False
        applied = fire(rule, bindings)
        if applied and self._left is not None:
            self._left -= 1
        if applied or self.refused:
            self.firings.append(Firing(phase, rule, node, bindings, applied))
        return applied


class _RecordedPhase:
    """Implements ``Phase``."""

    def __init__(self, phase: CompiledPhase, recorder: Recorder) -> None:
        self.name = phase.name
        self.rules: Sequence[Rule] = phase.rules
        self._phase = phase
        self._recorder = recorder

    def matcher(self, op: str) -> Matcher | None:
        inner = self._phase.matcher(op)
        if inner is None:
            return None
        name, recorder = self.name, self._recorder

        def match(node: Node, fire: Fire) -> bool:
            def record(rule: Rule, bindings: tuple[Any, ...]) -> bool:
                return recorder.fire(name, rule, bindings, node, fire)

            return inner(node, record)

        return match


def bound_names(firing: Firing, patterns: Patterns) -> dict[str, str]:
    """The rule's names for values, and the graph's: those that its template or ``let`` uses."""
    variant = firing.bindings[0]
    assert isinstance(variant, Variant)
    known = things(variant.flat, patterns.anchored(variant, variant.anchor).places)
    found: dict[str, str] = {}
    for text, value in zip(variant.found.arguments, firing.bindings[1:], strict=True):
        thing = known.get(text)
        if isinstance(thing, FlatValue) and thing.name and isinstance(value, Value):
            found[thing.name] = value.name
        elif isinstance(value, Node) and thing is not None and value is not firing.node:
            found.setdefault("nodes", "")
            found["nodes"] += f"{', ' if found['nodes'] else ''}{node_name(value)}"
    return found
