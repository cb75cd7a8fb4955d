"""Verifies one rule on graphs made from its own pattern, and on graphs that just miss it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Flaky, Unsatisfiable
from hypothesis.strategies import SearchStrategy

from qrewrite.patterns.pack import Pack, PackRule

from .case import Case, feeds
from .examine import Examiner
from .matching import models_matching, near_misses
from .rule_report import Counterexample, Report
from .sessions import Arrays

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


class _Wrong(AssertionError):
    """The rule was wrong on an example."""


def verify_rule(pack: Pack, rule: PackRule, effort: Effort) -> Report:
    """Try the rule on examples meant to match, then on half as many near misses."""
    start = time.perf_counter()
    report = Report(rule.full_name, least=effort.least)
    report = _Verification(pack, rule, report, effort).run()
    report.seconds = time.perf_counter() - start
    return report


class _Verification:
    def __init__(self, pack: Pack, rule: PackRule, report: Report, effort: Effort) -> None:
        self.pack = pack
        self.rule = rule
        self.report = report
        self.effort = effort
        self.examiner = Examiner(pack, rule)
        self.failing: dict[bytes, Counterexample] = {}
        self.last: Counterexample | None = None
        self.shrinking_since: float | None = None

    def run(self) -> Report:
        name = self.rule.name
        self._search(models_matching(self.pack, name), self._match, self.effort.examples)
        if self.last is None:
            self._search(near_misses(self.pack, name), self._miss, self.effort.examples // 2)
        self.report.counterexample = self.last
        return self.report

    def _search(
        self, strategy: SearchStrategy[Case], examine: Callable[[Case], None], examples: int
    ) -> None:
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
            examine(case)

        # the counterexample is in self.last; that nothing was made is told by the figures
        with suppress(_Wrong, Flaky, Unsatisfiable):
            search()

    # ---- one example

    def _match(self, case: Case) -> None:
        if self._out_of_time(case):
            return
        recording = self.shrinking_since is None
        if recording:
            self.report.possible.update(map(str, case.choices))
        fired = self._examine(case, recording)
        if recording and fired is not None:
            self.report.meant += 1
            if fired:
                self.report.fired += 1
                self.report.reached.update(set(map(str, case.choices)))

    def _miss(self, case: Case) -> None:
        if self._out_of_time(case):
            return
        fired = self._examine(case, False)
        if self.shrinking_since is None and fired is not None:
            self.report.misses += 1
            self.report.misses_fired += bool(fired)

    def _out_of_time(self, case: Case) -> bool:
        """Once shrinking has taken its time, only examples known to fail still do."""
        if self.shrinking_since is None:
            return False
        if time.perf_counter() - self.shrinking_since < self.effort.shrink_seconds:
            return False
        known = self.failing.get(_key(case))
        if known is not None:
            self.last = known
            raise _Wrong(known.problem)
        return True

    def _examine(self, case: Case, recording: bool) -> int | None:
        """How often the rule fired; None if the model is no valid test.  Raises _Wrong."""
        found = self.examiner.examine(case)
        judgement = found.judgement
        if judgement.problem:
            self._fail(case, judgement.inputs or feeds(case)[0], judgement.problem)
        if recording:
            self.report.refused.update(found.refused)
            self.report.found += judgement.found
            self.report.kernels += judgement.kernels
            if found.invalid:
                self.report.invalid[found.invalid[:160]] += 1
        return None if found.invalid else found.fired

    def _fail(self, case: Case, inputs: Arrays, problem: str) -> NoReturn:
        if self.shrinking_since is None:
            self.shrinking_since = time.perf_counter()
        self.last = Counterexample(case, inputs, problem)
        self.failing[_key(case)] = self.last
        raise _Wrong(problem)


def _key(case: Case) -> bytes:
    return bytes(case.model.SerializeToString(deterministic=True)) + str(case.seed).encode()
