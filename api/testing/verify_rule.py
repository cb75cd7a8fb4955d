"""Verifies one rule on graphs made from its own pattern, and on graphs that just miss it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Flaky, Unsatisfiable
from hypothesis.strategies import SearchStrategy

from qrewrite.patterns.packs.pack import Pack, PackRule

from .case import Case, feeds
from .counterexamples import size
from .examine import Examined, Examiner
from .matching import models_matching, near_misses
from .rule_report import Counterexample, Report

Count = Callable[[Case, Examined], None]
"""Hears of each example on which the rule is right."""

SHRINK_SECONDS = 40.0


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
    matches = _Search(examiner, effort, partial(_count_match, report))
    report.counterexample = matches.run(models_matching(pack, rule.name), effort.examples)
    if report.counterexample is None:
        misses = _Search(examiner, effort, partial(_count_miss, report))
        report.counterexample = misses.run(near_misses(pack, rule.name), effort.examples // 2)
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


def _count_miss(report: Report, _: Case, examined: Examined) -> None:
    if not examined.invalid:
        report.misses += 1
        report.misses_fired += bool(examined.fired)


class _Wrong(AssertionError):
    """The rule is wrong on an example."""


class _Search:
    """Examples of one kind, up to the first on which the rule is wrong, which then is shrunk."""

    def __init__(self, examiner: Examiner, effort: Effort, count: Count) -> None:
        self.examiner = examiner
        self.effort = effort
        self.count = count
        self.failing: dict[bytes, Counterexample] = {}
        self.shrinking_since: float | None = None

    def run(self, strategy: SearchStrategy[Case], examples: int) -> Counterexample | None:
        """The smallest example found on which the rule is wrong; `count` hears of the others."""

        @seed(self.effort.seed)
        @settings(
            max_examples=max(examples, 1),
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        @given(strategy)
        def search(case: Case) -> None:
            self._try(case)

        # what fails is kept here; that nothing could be made is told by the figures
        with suppress(_Wrong, Flaky, Unsatisfiable):
            search()
        return min(self.failing.values(), key=_size, default=None)

    def _try(self, case: Case) -> None:
        if self._out_of_time():
            if _key(case) in self.failing:
                raise _Wrong
            return
        examined = self.examiner.examine(case)
        judgement = examined.judgement
        if judgement.problem:
            inputs = feeds(case)[0] if judgement.inputs is None else judgement.inputs
            self.failing[_key(case)] = Counterexample(case, inputs, judgement.problem)
            self.shrinking_since = self.shrinking_since or time.perf_counter()
            raise _Wrong
        if self.shrinking_since is None:
            self.count(case, examined)

    def _out_of_time(self) -> bool:
        """Once shrinking has taken its time, only examples known to fail still do."""
        since = self.shrinking_since
        return since is not None and time.perf_counter() - since >= self.effort.shrink_seconds


def _key(case: Case) -> bytes:
    return bytes(case.model.SerializeToString(deterministic=True)) + str(case.seed).encode()


def _size(found: Counterexample) -> tuple[int, int]:
    """Nodes first, then bytes."""
    return size(found.case.model), found.case.model.ByteSize()
