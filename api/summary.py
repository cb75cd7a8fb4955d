"""What a rewrite did to one model: rules fired, ops before and after, what was re-coded and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qrewrite.engine.graph import Model
from qrewrite.pages import claim_of
from qrewrite.patterns.packs.pack import Pack, PackRule

RECODING_PHASES = frozenset({"weights", "recode"})
"""Phases whose rules change how a tensor is stored, so that the op around it can be fused."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that fired."""

    rule: str
    """`pack/rule`."""
    title: str
    claim: str
    times: int


@dataclass(frozen=True, slots=True)
class Made:
    """A node that a rule made and that is in the result."""

    node: str
    op: str
    rule: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Of one model; ops are counted over the main graph and all bodies inside it."""

    fired: tuple[Fired, ...]
    """In the order of the pack's phases, then by name."""
    before: Mapping[str, int]
    after: Mapping[str, int]
    made: tuple[Made, ...]
    notes: tuple[str, ...]

    @property
    def nodes_before(self) -> int:
        return sum(self.before.values())

    @property
    def nodes_after(self) -> int:
        return sum(self.after.values())


def count_ops(model: Model) -> dict[str, int]:
    """Op (`Conv`, `com.microsoft::QLinearAdd`) to number of nodes, sorted by op."""
    return dict(sorted(Counter(node.op for node in model.nodes()).items()))


def made_nodes(model: Model) -> tuple[Made, ...]:
    return tuple(Made(node.name, node.op, node.rule) for node in model.nodes() if node.rule)


def fired_rules(pack: Pack, times: Mapping[str, int]) -> tuple[Fired, ...]:
    """The rules of `pack` that fired, from how often each did by full name."""
    return tuple(
        Fired(entry.full_name, entry.rule.title, claim_of(entry.rule), times[entry.full_name])
        for entry in in_phase_order(pack)
        if times.get(entry.full_name)
    )


def recoding_notes(pack: Pack, times: Mapping[str, int]) -> tuple[str, ...]:
    """A line for each rule that re-coded tensors: what it did, how often, how exactly, and why."""
    return tuple(
        _note(entry, times[entry.full_name])
        for entry in in_phase_order(pack)
        if entry.phase in RECODING_PHASES and times.get(entry.full_name)
    )


def in_phase_order(pack: Pack) -> Iterable[PackRule]:
    return (entry for phase in pack.phases for entry in pack.rules_of(phase))


def _note(entry: PackRule, times: int) -> str:
    rule = entry.rule
    what = rule.title or rule.name
    why = f": {rule.doc}" if rule.doc else ""
    often = "once" if times == 1 else f"{times} times"
    return f"{what} ({often}, {claim_of(rule)}){why}"
