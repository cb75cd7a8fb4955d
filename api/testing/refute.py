"""Tries to find one counterexample of a rule, quickly and without shrinking it."""

from __future__ import annotations

from enum import Enum

from qrewrite.engine.errors import QrewriteError
from qrewrite.patterns.check import check_pack
from qrewrite.patterns.diagnostics import has_errors
from qrewrite.patterns.packs.pack import PackRule

from .application import with_rules
from .build_case import build_case
from .case import Case
from .draws import RandomDraw
from .examine import Examiner
from .expand_pattern import Unsatisfiable
from .mutants import Mutant
from .solve import solve


class Fate(Enum):
    """What becomes of a mutant."""

    KILLED = "killed"
    """It does not load, is wrong on a graph, or leaves most of what the rule matches alone."""
    IMPLIED = "implied"
    """It lacks a condition that no graph breaks alone: others imply it."""
    SURVIVES = "survives"


def fate(mutant: Mutant, examples: int, seed: int) -> Fate:
    """What becomes of a mutant on so many examples.

    A third of them match the original, a third are near misses of it by the condition that was
    changed, and a third match the mutant.
    """
    try:
        if has_errors(list(check_pack(with_rules(mutant.pack, [mutant.rule])))):
            return Fate.KILLED
        return _tried(mutant, Examiner(mutant.pack, mutant.rule), examples, seed)
    except QrewriteError:
        return Fate.KILLED


def _tried(mutant: Mutant, examiner: Examiner, examples: int, seed: int) -> Fate:
    matched = fired = missed = 0
    for number in range(examples):
        misses = number % 3 == 1 and mutant.condition is not None
        rule = mutant.rule if number % 3 == 2 else mutant.original
        case = _case(mutant, rule, number, seed, misses)
        if case is None:
            continue
        missed += misses
        found = examiner.examine(case)
        if found.judgement.problem:
            return Fate.KILLED
        if number % 3 == 0 and not found.invalid:
            matched += 1
            fired += bool(found.fired)
    if 2 * fired < matched:
        return Fate.KILLED
    dropped = mutant.condition is not None and mutant.what.startswith("without")
    return Fate.IMPLIED if dropped and not missed else Fate.SURVIVES


def _case(mutant: Mutant, rule: PackRule, number: int, seed: int, misses: bool) -> Case | None:
    draw = RandomDraw(f"{seed} {number}")
    try:
        solved = solve(mutant.pack, rule.rule, draw, mutant.condition if misses else None)
        return build_case(solved, draw, embed=number % 6 == 5)
    except Unsatisfiable:
        return None
