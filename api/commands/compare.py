"""`qrewrite apply --verify`: the models before and after compared by running them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qrewrite.commands.verify import need_extra
from qrewrite.engine.errors import QrewriteError

if TYPE_CHECKING:
    from qrewrite.commands.blame import SavedBlame
    from qrewrite.report import Report
    from qrewrite.rewriting import Program
    from qrewrite.testing.compare import Comparison


class CompareError(QrewriteError):
    """Models cannot be compared."""


def check_inputs(path: str | None) -> None:
    """Refuse before any work what cannot be compared in the end."""
    need_extra("apply --verify")
    if path is not None and not Path(path).is_file():
        raise CompareError(f"{path}: there is no such file")


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of running a model before and after."""

    comparison: Comparison | None
    """None if the result does not run."""
    problem: str = ""
    """Why it does not."""
    blame: SavedBlame | None = None

    @property
    def passed(self) -> bool:
        return self.comparison is not None and self.comparison.passed


@dataclass(frozen=True, slots=True)
class Blamer:
    """Where what is found about the rewrite that is to blame is saved."""

    output: Path
    """Where results are written: a file, or the folder of several."""
    folder: Path | None
    """Where what is found is saved, if not beside the result."""

    def place(self, result: Path) -> Path:
        """The path of what is saved, without ending."""
        inside = result.relative_to(self.output) if self.output.is_dir() else Path(result.name)
        if self.folder is None:
            return result.with_name(f"{result.stem}.blame")
        return self.folder / f"{'.'.join(inside.with_suffix('').parts)}.blame"


def verify_reports(
    program: Program, reports: Sequence[Report], inputs: str | None, blamer: Blamer | None
) -> list[Verified | None]:
    """One verdict a report; None where there is no result to compare."""
    given = None if inputs is None else _cases(inputs)
    return [
        None if each.error or each.output is None else _verify(program, each, given, blamer)
        for each in reports
    ]


def _verify(
    program: Program, report: Report, inputs: list[dict[str, Any]] | None, blamer: Blamer | None
) -> Verified:
    from qrewrite.testing.sessions import CannotRun

    try:
        found = Verified(_compare(program, report, inputs))
    except CannotRun as problem:
        found = Verified(None, f"{report.output}: cannot be compared: {problem}")
    if not found.passed and blamer is not None:
        return replace(found, blame=_blame(program, report, inputs, blamer))
    if found.comparison is None:
        raise CompareError(found.problem)
    return found


def _blame(
    program: Program, report: Report, inputs: list[dict[str, Any]] | None, blamer: Blamer
) -> SavedBlame | None:
    import onnx

    from qrewrite.commands.blame import save_blame
    from qrewrite.testing.blame import blame_program
    from qrewrite.testing.sessions import CannotRun

    assert report.output is not None
    try:
        found = blame_program(program, onnx.load(report.model), inputs)
    except CannotRun as problem:
        raise CompareError(f"{report.model}: cannot be compared: {problem}") from None
    if found is None:
        return None
    if blamer.folder is not None:
        blamer.folder.mkdir(parents=True, exist_ok=True)
    return save_blame(found, blamer.place(Path(report.output)))


def _cases(path: str) -> list[dict[str, Any]]:
    from qrewrite.npz import read_npz
    from qrewrite.testing.compare import cases_of

    return list(cases_of(read_npz(path)).values())


def _compare(program: Program, report: Report, inputs: list[dict[str, Any]] | None) -> Comparison:
    import onnx

    from qrewrite.testing.compare import claims_of, compare_models
    from qrewrite.testing.replay import rounded_model

    assert report.output is not None and report.summary is not None
    claims = claims_of(program.pack)
    made = {each.node: each.rule for each in report.summary.made}
    before, after = onnx.load(report.model), onnx.load(report.output)
    rounded = rounded_model(program, before)
    return compare_models(before, after, inputs, claims=claims, made=made, rounded=rounded)


def record(verified: Verified) -> dict[str, object]:
    from qrewrite.commands import blame

    found: dict[str, object] = {}
    comparison = verified.comparison
    if comparison is None:
        found["problem"] = verified.problem
    else:
        found = {
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
    if verified.blame is not None:
        found["blame"] = blame.record(verified.blame)
    return found


def print_verified(verified: Verified, blamed: bool) -> None:
    """`blamed`: somebody was looked for."""
    from qrewrite.commands.blame import print_blame

    if verified.comparison is None:
        print(f"{verified.problem}\n")
    else:
        _print_comparison(verified.comparison)
    if verified.blame is not None:
        print_blame(verified.blame)
    elif blamed and not verified.passed:
        print("no rewrite of this run is to blame by itself\n")


def _print_comparison(comparison: Comparison) -> None:
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
