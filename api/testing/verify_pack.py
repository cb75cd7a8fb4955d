"""Verifies the rules of a pack, several at a time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from functools import partial

from qrewrite.patterns.packs.pack import Pack, PackRule

from .rule_report import Report
from .verify_rule import Effort, verify_rule

OnReport = Callable[[Report], None]


def chosen_rules(pack: Pack, globs: Sequence[str]) -> list[PackRule]:
    """The rules whose name fits a pattern (``conv``, ``onnx/*``); all without patterns."""
    if not globs:
        return list(pack.rules)
    return [
        rule
        for rule in pack.rules
        if any(fnmatchcase(name, glob) for glob in globs for name in (rule.name, rule.full_name))
    ]


def verify_pack(
    pack: Pack, rules: Sequence[PackRule], effort: Effort, jobs: int | None = None,
    on_report: OnReport = lambda report: None,
) -> list[Report]:  # fmt: skip
    """Reports of the rules, in their order; `jobs` rules at a time (one a CPU).

    `on_report` is called with each as it is finished.
    """
    reports = []
    for report in _reports(pack, rules, effort, jobs or os.cpu_count() or 1):
        on_report(report)
        reports.append(report)
    return reports


def _reports(pack: Pack, rules: Sequence[PackRule], effort: Effort, jobs: int) -> Iterator[Report]:
    if min(jobs, len(rules)) < 2:
        yield from (verify_rule(pack, rule, effort) for rule in rules)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        yield from pool.map(partial(_by_name, pack, effort), [rule.full_name for rule in rules])


def _by_name(pack: Pack, effort: Effort, name: str) -> Report:
    rule = pack.rule(name)
    assert rule is not None
    return verify_rule(pack, rule, effort)
