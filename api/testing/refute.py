"""Tries to find one counterexample of a rule, quickly and without shrinking it."""

from __future__ import annotations

from collections.abc import Iterator

from qrewrite.engine.errors import QrewriteError
from qrewrite.patterns.check import check_pack
from qrewrite.patterns.diagnostics import has_errors

from .application import with_rules
from .build_case import build_case
from .case import Case
from .draws import RandomDraw
from .examine import Examiner
from .expand_pattern import Unsatisfiable
from .mutants import Mutant
from .solve import solve


def refuted(mutant: Mutant, examples: int, seed: int) -> bool:
    """Whether the mutant does not load, or is wrong on one of so many examples.

    A third of them are near misses of the original by the condition that was changed; the others
    match the mutant.
    """
    try:
        if has_errors(list(check_pack(with_rules(mutant.pack, [mutant.rule])))):
            return True
        examiner = Examiner(mutant.pack, mutant.rule)
        return any(
            examiner.examine(case).judgement.problem for case in _cases(mutant, examples, seed)
        )
    except QrewriteError:
        return True


def _cases(mutant: Mutant, examples: int, seed: int) -> Iterator[Case]:
    for index in range(examples):
        draw = RandomDraw(f"{seed} {index}")
        try:
            if index % 3 == 0 and mutant.condition is not None:
                solved = solve(mutant.pack, mutant.original.rule, draw, mutant.condition)
            else:
                solved = solve(mutant.pack, mutant.rule.rule, draw)
            yield build_case(solved, draw, embed=index % 3 == 2)
        except Unsatisfiable:
            continue
