"""Why ops stayed in float, and which rules took the others: a program run on a model, looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from onnx import ModelProto

from qrewrite.engine.errors import ModelError, QrewriteError, RuleError
from qrewrite.engine.graph import Model, Node
from qrewrite.engine.io.models import read_model
from qrewrite.engine.protocols import Phase
from qrewrite.engine.run.fixpoint import Progress, run
from qrewrite.engine.run.outcome import Applied, Outcome
from qrewrite.patterns.diagnostics import did_you_mean
from qrewrite.patterns.explain.blocked import Blocked, blocked, stayed_float
from qrewrite.patterns.explain.closest import Patterns
from qrewrite.patterns.explain.mentions import mentioned_ops, rules_by_op
from qrewrite.patterns.explain.recording import Firing, Recorder, bound_names
from qrewrite.patterns.explain.refusal import Trials
from qrewrite.patterns.packs.find import known_packs
from qrewrite.patterns.packs.load import load_pack
from qrewrite.patterns.program import CompiledPhase, CompiledRule
from qrewrite.rewriting import Program


@dataclass(frozen=True, slots=True)
class Fired:
    """One rewrite, or a match that was refused."""

    number: int
    """Of the rewrites, in their order; of a refused match that of the last one."""
    phase: str
    rule: str
    op: str
    node: str
    """At which the rule is anchored."""
    taken: tuple[str, ...]
    """The nodes of the match."""
    bindings: tuple[tuple[str, str], ...]
    """The rule's names, and the graph's."""
    applied: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of one model, or of one node of it."""

    model: str
    pack: str
    ops: int
    """Ops beside Q or DQ before the rewrite; 0 where one node alone is explained."""
    stayed: int
    blocked: tuple[Blocked, ...]
    known_by: tuple[tuple[str, tuple[str, ...]], ...]
    """Ops that no rule of the pack takes, and the packs that mention them."""
    fired: tuple[Fired, ...] = ()
    beside: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Ops that no rule of the pack takes, and the rules that have them in a chain of others."""

    def __str__(self) -> str:
        from qrewrite.explanation_text import lines_of

        return "\n".join(lines_of(self)).rstrip()


class Explainer:
    """A program's run on one model, and the questions that can be asked of it.

    ``firings`` are from a run that was written down; ``applied`` is what any run knows.
    """

    def __init__(
        self,
        program: Program,
        view: Model,
        firings: Sequence[Firing] = (),
        applied: Sequence[Applied] = (),
        ops: int = 0,
    ) -> None:
        self.program = program
        self.view = view
        self.ops = ops
        self._firings = firings
        self._applied = applied
        self._patterns = patterns_of(program)
        self._trials = Trials(view, self._patterns, program.options, program.allows)

    def whole(self, name: str = "", rule: str = "", fired: bool = False) -> Explanation:
        """All ops that stayed in float; ``rule``: what keeps this rule from them."""
        only = self._only(rule)
        nodes = stayed_float(self.view)
        groups = blocked(nodes, self._trials, only)
        if only:
            groups = [group for group in groups if group.cause is not None]
        steps = self._fired(lambda _: True) if fired else ()
        return self._explanation(name, nodes, groups, steps)

    def node(self, wanted: str, name: str = "", rule: str = "") -> Explanation:
        """One node: what blocks it, or which rules took it.

        ModelError, with the nearest name, if neither the model nor its result has such a node.
        """
        fired = self._fired(lambda each: _took(each, wanted)) + self._took_at_anchor(wanted)
        found = next((node for node in self.view.nodes() if _is_named(node, wanted)), None)
        if found is None and not fired:
            known = [node.known_as for node in self.view.nodes()]
            note = did_you_mean(wanted, known)
            raise ModelError(f'there is no node "{wanted}"{f"; {note}" if note else ""}')
        made = found is None or bool(found.rule) or any(each.applied for each in fired)
        nodes = [] if made or found is None else [found]
        groups = blocked(nodes, self._trials, self._only(rule))
        return replace(self._explanation(name, nodes, groups, fired), ops=0)

    def _only(self, rule: str) -> frozenset[str]:
        if not rule:
            return frozenset()
        found = self.program.pack.rule(rule)
        if found is None:
            note = did_you_mean(rule, [each.name for each in self.program.pack.rules])
            raise RuleError(f'the pack has no rule "{rule}"{f"; {note}" if note else ""}')
        return frozenset({found.name})

    def _explanation(
        self, name: str, nodes: Sequence[Node], groups: Sequence[Blocked], fired: tuple[Fired, ...]
    ) -> Explanation:
        unknown = dict.fromkeys(group.op for group in groups if group.cause is None)
        known_by = tuple(packs_by_op(unknown, self.program.pack.parents).items())
        beside = tuple(rules_by_op(self.program.pack, unknown).items())
        pack = self.program.pack.name
        return Explanation(name, pack, self.ops, len(nodes), tuple(groups), known_by, fired, beside)

    def _fired(self, wanted: Callable[[Firing], bool]) -> tuple[Fired, ...]:
        found: list[Fired] = []
        count = 0
        for each in self._firings:
            count += each.applied
            if wanted(each):
                found.append(self._of_firing(each, count))
        return tuple(found)

    def _took_at_anchor(self, wanted: str) -> tuple[Fired, ...]:
        """Without a record only the node at which each rule was anchored is known."""
        return tuple(
            Fired(
                number,
                "",
                f"{each.pack}/{each.rule}",
                each.op,
                each.node or next(iter(each.outputs), ""),
                (),
                (),
                True,
            )
            for number, each in enumerate(self._applied, 1)
            if wanted == each.node or wanted in each.outputs
        )

    def _of_firing(self, firing: Firing, number: int) -> Fired:
        names = bound_names(firing, self._patterns)
        node = firing.node
        return Fired(
            number,
            firing.phase,
            firing.name,
            node.op,
            node.known_as,
            tuple(each.known_as for each in firing.nodes()),
            tuple(names.items()),
            firing.applied,
        )


def explain_model(
    program: Program,
    model: str | PathLike[str] | ModelProto,
    *,
    refused: bool = False,
    stop_after: int | None = None,
    progress: Progress | None = None,
) -> Explainer:
    """Run a program on a model, written down; ``refused``: matches that were not applied, too.

    ``stop_after``: the run ends as if no rule fired after so many rewrites.
    """
    view = read_model(model, anchors=program.anchors, declared=program.schemas)
    ops = len(stayed_float(view))
    recorder = Recorder(compiled_phases(program.phases), stop_after, refused)
    run_program(program, view, recorder.phases, progress)
    return Explainer(program, view, recorder.firings, (), ops)


def run_program(
    program: Program, view: Model, phases: Sequence[Phase], progress: Progress | None = None
) -> Outcome:
    return run(
        view,
        phases,
        program.options,
        filter=program.allows if program.selection.restricts else None,
        progress=progress,
    )


def compiled_phases(phases: Iterable[Phase]) -> list[CompiledPhase]:
    return [phase for phase in phases if isinstance(phase, CompiledPhase)]


def patterns_of(program: Program) -> Patterns:
    """The patterns of all rules of a program, to be looked at one by one."""
    phases = compiled_phases(program.phases)
    rules = [rule for phase in phases for rule in phase.rules if isinstance(rule, CompiledRule)]
    return Patterns(rules, phases[0].helpers)


def packs_by_op(ops: Iterable[str], without: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The packs known by name, but for some, whose rules mention each op."""
    wanted = list(dict.fromkeys(ops))
    found: dict[str, list[str]] = {op: [] for op in wanted}
    if not wanted:
        return {}
    for pack in known_packs():
        if pack.name in without:
            continue
        try:
            mentioned = mentioned_ops(load_pack(pack.name))
        except QrewriteError:
            continue  # a broken pack is no help here, and not what was asked about
        for op in wanted:
            if op in mentioned:
                found[op].append(pack.name)
    return {op: tuple(packs) for op, packs in found.items()}


def _is_named(node: Node, wanted: str) -> bool:
    return node.name == wanted or any(
        value is not None and value.name == wanted for value in node.outputs
    )


def _took(firing: Firing, wanted: str) -> bool:
    return any(_is_named(node, wanted) for node in firing.nodes())
