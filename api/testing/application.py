"""One rule of a pack applied to a model, and how often it fired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onnx import ModelProto

from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.io.models import read_model
from qrewrite.engine.protocols import Matcher, Phase, Rule
from qrewrite.engine.run.fixpoint import Filter, run
from qrewrite.patterns.packs.declared_ops import declared_schema
from qrewrite.patterns.packs.options import settings
from qrewrite.patterns.packs.pack import Pack, PackRule
from qrewrite.patterns.program import compile_pack


@dataclass(frozen=True)
class Rewritten:
    """A rewritten model."""

    model: ModelProto
    fired: int
    rules: tuple[str, ...]
    """Full name of the rule of each firing."""
    refused: tuple[str, ...]
    """Why the engine refused matches."""


class Applier:
    """A rule, or a whole pack, compiled once and applied to many models."""

    def __init__(self, pack: Pack, rule: PackRule | None = None) -> None:
        self.pack = pack if rule is None else with_rules(pack, [rule, *_followers(pack, rule)])
        self.rule = rule
        self._compiled: dict[tuple[tuple[str, object], ...], Sequence[Phase]] = {}
        self._schemas = tuple(map(declared_schema, self.pack.declarations.values()))

    def apply(
        self, model: ModelProto, options: Mapping[str, object], seed: int | None = None,
        filter: Filter | None = None, checked: bool = True,
    ) -> Rewritten:  # fmt: skip
        """The rewritten model; `model` is left as it is.  `seed` shuffles the nodes, `filter` says
        where which rule may fire; `checked`: the graph's links are checked after each firing."""
        copy = ModelProto()
        copy.CopyFrom(model)
        view = read_model(copy, declared=self._schemas)
        values = settings(self.pack, dict(options))  # type: ignore[arg-type]  # checked there
        key = tuple(sorted(values.items()))
        if key not in self._compiled:
            phases: Sequence[Phase] = compile_pack(self.pack, values)
            if self.rule is not None:
                phases = [_Alone(phase, self.rule.name) for phase in phases]
            self._compiled[key] = phases
        outcome = run(view, self._compiled[key], values, filter=filter, seed=seed, checked=checked)
        fired = len(outcome.applied)
        rules = tuple(f"{each.pack}/{each.rule}" for each in outcome.applied)
        refused = tuple(reason for _, reason in outcome.refused)
        return Rewritten(to_proto(view), fired, rules, refused)


class _Alone:
    """A phase in which one rule alone is tried; the others are there to follow it."""

    def __init__(self, phase: Phase, rule: str) -> None:
        self.name = phase.name
        self.rules: Sequence[Rule] = phase.rules
        self._rule = next((each for each in phase.rules if each.name == rule), None)
        self._matcher = self._rule.matcher() if self._rule is not None else None

    def matcher(self, op: str) -> Matcher | None:
        return self._matcher if self._rule is not None and op in self._rule.anchors else None


def with_rules(pack: Pack, rules: Sequence[PackRule]) -> Pack:
    """The pack with these rules alone."""
    return replace(pack, rules=tuple(rules))


def _followers(pack: Pack, rule: PackRule) -> list[PackRule]:
    """The rules that must follow this one, and those that must follow them."""
    found: dict[str, PackRule] = {}
    waiting = list(rule.rule.then)
    while waiting:
        name = waiting.pop()
        follower = pack.rule(name)
        if follower is not None and name not in found and name != rule.name:
            found[name] = follower
            waiting += follower.rule.then
    return list(found.values())
