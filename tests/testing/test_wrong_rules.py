"""Every rule in tests/wrong_rules holds a plausible mistake, and verification finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from qrewrite.loading import load_rules
from qrewrite.testing.counterexamples import size
from qrewrite.testing.rule_report import Verdict
from qrewrite.testing.verify_rule import Effort, verify_rule

FILES = sorted((Path(__file__).parents[1] / "wrong_rules").glob("*.rules"))
QUICK = [
    path
    for path in FILES
    if path.stem in ("relu_any_zero_point", "transpose_lost_perm", "sub_as_add")
]
DEFAULT_EXAMPLES = 200


def test_there_are_enough() -> None:
    assert len(FILES) >= 30


def refute(path: Path, shrink_seconds: float) -> None:
    pack = load_rules(path)
    report = verify_rule(pack, pack.rules[0], Effort(DEFAULT_EXAMPLES, 0, shrink_seconds))
    assert report.verdict is Verdict.COUNTEREXAMPLE, report.reason
    assert report.counterexample is not None
    case = report.counterexample.case
    assert size(case.model) <= case.core + 2, case.model


@pytest.mark.parametrize("path", QUICK, ids=lambda path: path.stem)
def test_some_are_refuted_by_small_models(path: Path) -> None:
    refute(path, 3)


@pytest.mark.deep
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_are_refuted_by_small_models(path: Path) -> None:
    refute(path, 15)
