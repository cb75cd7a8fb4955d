"""Verifies one rule on graphs made from its own pattern, and on graphs that just miss it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from qrewrite.patterns.pack import Pack, PackRule
from qrewrite.patterns.syntax import Rule

from .case import Case, feeds
from .counterexamples import size
from .draws import Draw, RandomDraw, ReplayedDraw
from .examine import Examined, Examiner
from .expand_pattern import Unsatisfiable
from .generate import matching_case, near_miss
from .rule_report import Counterexample, Report
from .shrink import Choices, Failing, shrink

Make = Callable[[Pack, Rule, Draw], Case]

SHRINK_SECONDS = 40.0
WASTED = 4
"""So many times the examples are begun, where choices cannot be completed."""


@dataclass(frozen=True)
class Effort:
    """How much is tried."""

    examples: int = 200
    seed: int = 0
    shrink_seconds: float = SHRINK_SECONDS

    @property
    def least(self) -> int:
        """How often each choice must be reached: 20 times in 1,000 examples, not at all in 49."""
        return min(20, self.examples // 50)


def verify_rule(pack: Pack, rule: PackRule, effort: Effort) -> Report:
    """Try the rule on examples meant to match, then on half as many near misses."""
    start = time.perf_counter()
    report = Report(rule.full_name, least=effort.least)
    examiner = Examiner(pack, rule)
    matches = _Search(examiner, matching_case, effort)
    for found in matches.run(effort.examples):
        _count_match(report, *found)
    if matches.failing is None:
        misses = _Search(examiner, near_miss, effort)
        for _, examined in misses.run(effort.examples // 2):
            if not examined.invalid:
                report.misses += 1
                report.misses_fired += bool(examined.fired)
        report.counterexample = misses.counterexample()
    else:
        report.counterexample = matches.counterexample()
    report.seconds = time.perf_counter() - start
    return report


def _count_match(report: Report, case: Case, examined: Examined) -> None:
    report.possible.update(map(str, case.choices))
    report.refused.update(examined.refused)
    report.found += examined.judgement.found
    report.kernels += examined.judgement.kernels
    if examined.invalid:
        report.invalid[examined.invalid[:160]] += 1
        return
    report.meant += 1
    if examined.fired:
        report.fired += 1
        report.reached.update(set(map(str, case.choices)))


class _Search:
    """Examples of one kind, up to the first on which the rule is wrong."""

    def __init__(self, examiner: Examiner, make: Make, effort: Effort) -> None:
        self.examiner = examiner
        self.make = make
        self.effort = effort
        self.failing: Failing[Counterexample] | None = None

    def run(self, examples: int) -> Iterator[tuple[Case, Examined]]:
        """So many examples and what came of each, but for one that fails, which ends it."""
        left = max(examples, 1)
        for number in range(WASTED * left):
            draw = RandomDraw(f"{self.effort.seed} {self.make.__name__} {number}")
            try:
                case = self.make(self.examiner.pack, self.examiner.rule.rule, draw)
            except Unsatisfiable:
                continue
            examined = self.examiner.examine(case)
            if examined.judgement.problem:
                self.failing = _failing(tuple(draw.taken), case, examined)
                return
            yield case, examined
            left -= 1
            if not left:
                return

    def counterexample(self) -> Counterexample | None:
        """The example that fails, as small as can be."""
        if self.failing is None:
            return None
        end = time.perf_counter() + self.effort.shrink_seconds
        return shrink(self.failing, self._again, lambda: time.perf_counter() < end).example

    def _again(self, choices: Choices) -> Failing[Counterexample] | None:
        draw = ReplayedDraw(choices)
        try:
            case = self.make(self.examiner.pack, self.examiner.rule.rule, draw)
        except Unsatisfiable:
            return None
        examined = self.examiner.examine(case)
        return _failing(tuple(draw.taken), case, examined) if examined.judgement.problem else None


def _failing(choices: Choices, case: Case, examined: Examined) -> Failing[Counterexample]:
    judgement = examined.judgement
    inputs = feeds(case)[0] if judgement.inputs is None else judgement.inputs
    return Failing(choices, size(case.model), Counterexample(case, inputs, judgement.problem))
