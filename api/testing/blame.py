"""Which rewrite is to blame: a program's run halved until one rewrite is left.

A run is deterministic and can be stopped after any number of rewrites.  The state before the first
rewrite is right and the one after the last is not, so that halving ends at a rewrite before which
all nodes are within the claims and after which one is not.  The part of the graph that this rewrite
is about is then cut out, and the rule applied to it alone.  Where that shows nothing, since a later
rewrite only brought to light what an earlier one did, the earlier ones are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from types import MappingProxyType
from typing import TypeVar

import onnx
from onnx import ModelProto

from qrewrite.loading import PackLike
from qrewrite.pages import claim_of
from qrewrite.patterns.explain.cause import place_of
from qrewrite.patterns.explain.recording import Firing
from qrewrite.patterns.packs.pack import PackRule
from qrewrite.patterns.syntax import Setting
from qrewrite.rewriting import Program, recipe_of
from qrewrite.selection import Globs

from .bodies import Opened, Opener
from .claims import Tolerance
from .compare import claims_of, judge_graphs, random_inputs
from .isolate import Fault, isolate
from .node_by_node import CLAIMED, Allowance
from .replay import State, last_rounding, replay
from .sessions import Array, Arrays, CannotRun

F = TypeVar("F")


@dataclass(frozen=True)
class Blame:
    """The first rewrite that is beyond the claims."""

    rule: str
    """``pack/rule``."""
    title: str
    claim: str
    place: str
    """``file:line:column`` of the rule."""
    node: str
    """At which the rule was anchored."""
    op: str
    matched: tuple[str, ...]
    """Nodes of the match."""
    number: int
    """Of the rewrite."""
    rewrites: int
    """Of the whole run."""
    problem: str
    """What is wrong behind it."""
    before: ModelProto
    after: ModelProto
    inputs: Mapping[str, Array]
    """Of `before` and `after`, by name."""
    left: int
    """Nodes that are beyond the claims still if the rule is left out."""
    halved: bool = True
    """Found by halving the run; else by trying its rewrites one by one."""
    alone: bool = True
    """`before` is the part of the graph that shows the fault; else the whole model."""


def blame(
    model: str | PathLike[str] | ModelProto,
    packs: PackLike | Sequence[PackLike] = (),
    inputs: Sequence[Arrays] | None = None,
    *,
    rules: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    options: Mapping[str, Setting] = MappingProxyType({}),
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    allow_python: bool = False,
    allowed: Tolerance = CLAIMED,
) -> Blame | None:
    """The rewrite that takes a model beyond `allowed`; None if none does on these inputs.

    The arguments are those of `rewrite` and `compare_models`.  Raises CannotRun if onnxruntime
    cannot run the model as it is, QrewriteError for what is wrong with the rules.
    """
    recipe = recipe_of(packs, rules, options, only, skip, allow_python)
    proto = model if isinstance(model, ModelProto) else onnx.load(fspath(model))
    return blame_program(recipe.prepare(), proto, inputs, allowed)


def blame_program(
    program: Program, model: ModelProto, inputs: Sequence[Arrays] | None = None,
    allowed: Tolerance = CLAIMED,
) -> Blame | None:  # fmt: skip
    """See `blame`."""
    cases = inputs if inputs is not None else [random_inputs(model, seed) for seed in range(2)]
    left = Opener(model)
    for case in cases:
        found = _Search(program, model, case, left.run(case), allowed).run()
        if found is not None:
            return found
    return None


def first_wrong(
    count: int, is_wrong: Callable[[int], bool], alone: Callable[[int], F | None]
) -> tuple[int, F | None, bool]:
    """Number of the rewrite to blame, what it does alone, and whether halving found it.

    `is_wrong` says it of the state after so many rewrites, and is so after all `count`; `alone` of
    one rewrite by itself.  Where the wrong comes and goes halving may end at a rewrite that is
    right by itself; then those before it are asked in turn.
    """
    right, wrong = 0, count
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_wrong(middle):
            wrong = middle
        else:
            right = middle
    fault = alone(wrong)
    if fault is not None:
        return wrong, fault, True
    for number in range(1, wrong):
        fault = alone(number)
        if fault is not None:
            return number, fault, False
    return wrong, None, True


class _Search:
    """The run of a program on one model, stopped at will and held against one set of inputs."""

    def __init__(
        self, program: Program, model: ModelProto, case: Arrays, expected: Sequence[Opened],
        allowed: Tolerance,
    ) -> None:  # fmt: skip
        self.program = program
        self.model = model
        self.case = case
        self.expected = expected
        self.allowed = allowed
        self.claims = claims_of(program.pack)
        firings = replay(program, model).firings
        self.rewrites = len(firings)
        self.roundings = last_rounding(program, firings)
        """Number of the last lossy rewrite; what follows is held against the state behind it."""
        self.rounded: Sequence[Opened] = ()
        if self.roundings:
            self.rounded = Opener(self.replay(self.roundings).model).run(case)

    def run(self) -> Blame | None:
        if not self.rewrites or not self.problems(self.rewrites):
            return None
        number, fault, halved = first_wrong(self.rewrites, self.is_wrong, self.alone)
        found = self.blame(number, fault)
        return replace(found, halved=halved, alone=fault is not None)

    def is_wrong(self, stop_after: int) -> bool:
        return bool(self.problems(stop_after))

    def replay(self, stop_after: int) -> State:
        return replay(self.program, self.model, stop_after)

    def problems(self, stop_after: int) -> list[str]:
        """What is beyond the claims after so many rewrites."""
        after = self.replay(stop_after)
        try:
            actual = Opener(after.model).run(self.case)
        except CannotRun as problem:
            return [f"onnxruntime does not run the result: {problem}"]
        allowance = Allowance(self.allowed, self.claims, after.made)
        judged = [*judge_graphs(self.expected, actual, allowance)]
        if stop_after > self.roundings:
            judged += judge_graphs(self.rounded, actual, replace(allowance, rounded=True))
        return [f"{node}: {problem}" for node, problem in judged if problem]

    def alone(self, number: int) -> Fault | None:
        """The rewrite of that number on its own part of the graph; None if that is right."""
        firings = self.replay(number).firings
        try:
            opened = Opener(self.replay(number - 1).model).run(self.case)
        except CannotRun:
            return None
        return isolate(self.program, self.rule(firings[-1]), firings[-1], opened)

    def rule(self, firing: Firing) -> PackRule:
        found = self.program.pack.rule(firing.name)
        assert found is not None, firing.name
        return found

    def blame(self, number: int, fault: Fault | None) -> Blame:
        after = self.replay(number)
        firing = after.firings[-1]
        rule = self.rule(firing)
        if fault is None:
            before = self.replay(number - 1).model
            fault = Fault(self.problems(number)[0], before, after.model, dict(self.case))
        return Blame(
            rule.full_name,
            rule.rule.title,
            claim_of(rule.rule),
            place_of(rule.rule.span),
            firing.node.known_as,
            firing.node.op,
            tuple(node.known_as for node in firing.nodes()),
            number,
            self.rewrites,
            fault.problem,
            fault.before,
            fault.after,
            fault.inputs,
            self.left(rule),
        )

    def left(self, rule: PackRule) -> int:
        """Nodes beyond the claims in a run without the rule."""
        selection = self.program.selection
        skipped = Globs((*selection.skip.rules, rule.full_name), selection.skip.nodes)
        program = replace(self.program, selection=replace(selection, skip=skipped))
        other = _Search(program, self.model, self.case, self.expected, self.allowed)
        return len(other.problems(other.rewrites))
