"""From a pack to what the engine runs: phases of rules, compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from qrewrite.engine.protocols import Context, Matcher, Replacement

from .compiler.anchor import anchor_of
from .compiler.builder import builder_source
from .compiler.codegen import function_body
from .compiler.conditions import add_conditions
from .compiler.expand import expand
from .compiler.flat import Flat, FlatNode
from .compiler.helpers import Helpers
from .compiler.places import ANCHOR, Places
from .compiler.repetition import Matching
from .compiler.steps import Step, Steps
from .packs.pack import Pack, PackRule
from .packs.specificity import rule_order


def compile_pack(pack: Pack, options: Mapping[str, Any]) -> tuple[CompiledPhase, ...]:
    """The phases of a pack, in the order they run.

    ``options`` has a value for every option of the pack.  Rules are expanded and compiled only when
    they are needed; RuleFileError, then, for what the checks of a pack do not find.
    """
    helpers = Helpers(pack, options)
    return tuple(
        CompiledPhase(
            name, tuple(CompiledRule(rule, helpers) for rule in _ordered(pack, name)), helpers
        )
        for name in pack.phases
    )


def _ordered(pack: Pack, phase: str) -> list[PackRule]:
    return sorted(pack.rules_of(phase), key=lambda rule: rule_order(rule, pack))


class CompiledPhase:
    """Implements ``Phase``: one matcher for each op at which a rule is anchored."""

    def __init__(self, name: str, rules: Sequence[CompiledRule], helpers: Helpers) -> None:
        self.name = name
        self.rules = rules
        self.helpers = helpers
        self._matchers: dict[str, Matcher | None] = {}

    def matcher(self, op: str) -> Matcher | None:
        if op not in self._matchers:
            variants = [
                variant for rule in self.rules for variant in rule.variants if op in variant.ops
            ]
            self._matchers[op] = compile_matcher(variants, self.helpers) if variants else None
        return self._matchers[op]


class CompiledRule:
    """Implements ``Rule``."""

    def __init__(self, source: PackRule, helpers: Helpers) -> None:
        self.source = source
        self.name = source.rule.name
        self.pack = source.pack
        self.expands = source.rule.expands
        self.then = source.rule.then
        self._helpers = helpers
        self._matcher: Matcher | None = None

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """The patterns that the rule stands for, more specific ones first."""
        flats = expand(self.source.rule, self._helpers.pack)
        return tuple(Variant(self, flat, anchor_of(flat), self._helpers) for flat in flats)

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(op for variant in self.variants for op in variant.ops))

    def matcher(self) -> Matcher:
        if self._matcher is None:
            self._matcher = _by_op(self.variants, self._helpers)
        return self._matcher

    def sources(self) -> Mapping[str, str]:
        """The generated functions of the whole program so far, for those who want to read them."""
        return self._helpers.sources

    def rewrite(self, bindings: tuple[object, ...], context: Context) -> Replacement | None:
        variant, *values = bindings
        assert isinstance(variant, Variant)
        replacement: Replacement | None = variant.build(context, *values)
        return replacement


class Variant:
    """One pattern of a rule, its steps and its builder."""

    def __init__(self, rule: CompiledRule, flat: Flat, anchor: FlatNode, helpers: Helpers) -> None:
        self.rule = rule
        self.flat = flat
        self.anchor = anchor
        self.ops = frozenset(anchor.ops)
        self._helpers = helpers

    @cached_property
    def found(self) -> Found:
        """The steps that find the pattern from its anchor, and the source of the builder."""
        steps, places = Steps(), Places()
        Matching(self.flat, self._helpers, steps, places).from_node(
            self.anchor, ANCHOR, known_op=True
        )
        waiting = add_conditions(self.flat, self._helpers, places, steps)
        source = builder_source(self.rule.source.rule, self.flat, self._helpers, places, waiting)
        return Found(
            tuple(steps.items), source.arguments, source.parameters, source.steps, source.body
        )

    @cached_property
    def build(self) -> Any:
        """The function that builds the replacement, from a context and the values of a match."""
        found = self.found
        name = self._helpers.function(", ".join(("context", *found.parameters)), found.builder)
        return self._helpers.globals[name]


@dataclass(frozen=True, slots=True)
class Found:
    steps: tuple[Step, ...]
    arguments: tuple[str, ...]
    """What the match hands to the builder, as the matcher's text."""
    parameters: tuple[str, ...]
    computing: tuple[Step, ...]
    """The steps that the builder takes first, over its parameters: ``let`` and what depends on
    it."""
    builder: str


def compile_matcher(variants: Sequence[Variant], helpers: Helpers) -> Matcher:
    """One function that tries variants of rules at a node, in their order."""
    sequences: list[tuple[Sequence[Step], str]] = []
    seen: set[tuple[CompiledRule, tuple[Step, ...]]] = set()
    for variant in variants:
        steps = variant.found.steps
        # Commuting what is alike on both sides gives the same steps again.
        if (variant.rule, steps) in seen:
            continue
        seen.add((variant.rule, steps))
        rule = helpers.constant(f"rule {id(variant.rule)}", variant.rule)
        own = helpers.constant(f"variant {id(variant)}", variant)
        values = ", ".join((own, *variant.found.arguments))
        sequences.append((steps, f"if fire({rule}, ({values},)): return True"))
    name = helpers.function(f"{ANCHOR}, fire", function_body(sequences, "return False"))
    matcher: Matcher = helpers.globals[name]
    return matcher


def _by_op(variants: Sequence[Variant], helpers: Helpers) -> Matcher:
    """A matcher that looks at the op of the node first."""
    ops = dict.fromkeys(op for variant in variants for op in variant.ops)
    table = {
        op: compile_matcher([each for each in variants if op in each.ops], helpers) for op in ops
    }

    def match(node: Any, fire: Any) -> bool:
        matcher = table.get(node.op)
        return matcher is not None and matcher(node, fire)

    return match
