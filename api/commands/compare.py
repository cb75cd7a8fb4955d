"""`qrewrite apply --verify`: the models before and after compared by running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qrewrite.commands.verify import need_extra
from qrewrite.engine.errors import QrewriteError

if TYPE_CHECKING:
    from qrewrite.report import Report
    from qrewrite.testing.compare import Comparison


class CompareError(QrewriteError):
    """Models cannot be compared."""


def check_inputs(path: str | None) -> None:
    """Refuse before any work what cannot be compared in the end."""
    need_extra("apply --verify")
    if path is not None and not Path(path).is_file():
        raise CompareError(f"{path}: there is no such file")


def compare_reports(reports: Sequence[Report], inputs: str | None) -> list[Comparison | None]:
    """One comparison a report; None where there is no result to compare."""
    given = None if inputs is None else _cases(inputs)
    return [
        None if each.error or each.output is None else _compare(each, given) for each in reports
    ]


def _cases(path: str) -> list[dict[str, Any]]:
    import numpy as np

    from qrewrite.testing.compare import cases_of

    try:
        with np.load(path) as stored:
            return list(cases_of(dict(stored.items())).values())
    except (OSError, ValueError) as problem:
        raise CompareError(f"{path}: cannot be read as an npz file: {problem}") from None


def _compare(report: Report, inputs: list[dict[str, Any]] | None) -> Comparison:
    import onnx

    from qrewrite.testing.compare import compare_models
    from qrewrite.testing.sessions import CannotRun

    assert report.output is not None
    fired = report.summary.fired if report.summary is not None else ()
    lossy = [each.rule for each in fired if each.claim.startswith("lossy")]
    try:
        before, after = onnx.load(report.model), onnx.load(report.output)
        return compare_models(before, after, inputs, lossy=lossy)
    except CannotRun as problem:
        raise CompareError(f"{report.output}: cannot be compared: {problem}") from None


def record(comparison: Comparison) -> dict[str, object]:
    return {
        "outputs": [
            {
                "name": each.name,
                "largest": each.largest,
                "mean": each.mean,
                "unit": each.unit,
                "cosine": each.cosine,
            }
            for each in comparison.outputs
        ],
        "nodes_judged": comparison.nodes,
        "beyond": list(comparison.beyond),
    }


def print_comparison(comparison: Comparison) -> None:
    from qrewrite.console import Table, print_table

    rows = tuple(
        (each.name, f"{each.largest:.4g}", f"{each.mean:.4g}", each.unit, f"{each.cosine:.6f}")
        for each in comparison.outputs
    )
    heads = ("output", "largest", "mean", "in", "cosine")
    print_table(Table(heads, rows, frozenset({1, 2, 4})))
    print(
        f"\n{comparison.nodes} nodes judged on their own, "
        f"{len(comparison.beyond)} beyond the claims"
    )
    for problem in comparison.beyond:
        print(f"  {problem}")
    print()
