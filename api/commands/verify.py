"""`qrewrite verify`: rules tested on graphs made from their own patterns."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from qrewrite.commands.argument_types import positive
from qrewrite.engine.errors import QrewriteError

if TYPE_CHECKING:
    from qrewrite.patterns.packs.pack import Pack, PackRule
    from qrewrite.testing.rule_report import Report

FAILED = 1


class VerifyError(QrewriteError):
    """`verify` cannot do what it is asked."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "verify",
        help="test rules on graphs made from their own patterns",
        description="Test rules on graphs made from their own patterns: valid results, and the "
        "claim of each rule. Exit status 1 on a counterexample, or if a rule is left untested.",
    )
    add = parser.add_argument
    add("packs", nargs="+", metavar="PACK|FILE", help="packs by name or folder, or rule files")
    add("--rule", action="append", default=[], metavar="NAME", help="only rules whose name fits")
    add("--examples", type=positive, default=200, metavar="N", help="examples a rule (200)")
    add("--seed", type=int, default=0, metavar="S", help="seed of the examples (0)")
    add("--jobs", type=positive, metavar="N", help="rules tested at a time (one a CPU)")
    add("--out", default="counterexamples", metavar="DIR", help="where counterexamples are written")
    add(
        "--mutate", action="store_true", help="weaken each rule and report the mutants that survive"
    )
    add("--replay", metavar="FILE.onnx", help="judge the rule on a saved counterexample")
    add("--allow-python", action="store_true", help="let rule files import Python functions")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    need_extra("verify")
    pack = _load(arguments)
    from qrewrite.testing.verify_pack import chosen_rules

    rules = chosen_rules(pack, arguments.rule)
    if not rules:
        raise VerifyError(f"pack {pack.name} has no rule {', '.join(arguments.rule)}")
    if arguments.replay:
        return _replay(pack, rules, Path(arguments.replay))
    if arguments.mutate:
        return _mutate(pack, rules, arguments)
    return _verify(pack, rules, arguments)


def need_extra(what: str) -> None:
    """One sentence where hypothesis or onnxruntime is missing."""
    missing = [name for name in ("hypothesis", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise VerifyError(
            f"{what} needs {' and '.join(missing)}: pip install 'qrewrite[verify]', "
            "or any other build of onnxruntime"
        )


def _load(arguments: argparse.Namespace) -> Pack:
    from qrewrite.loading import load_pack

    files = [name for name in arguments.packs if name.endswith(".rules")]
    packs = [name for name in arguments.packs if not name.endswith(".rules")]
    return load_pack(*packs, rules=files, allow_python=arguments.allow_python)


def _verify(pack: Pack, rules: list[PackRule], arguments: argparse.Namespace) -> int:
    from qrewrite.testing.counterexamples import save
    from qrewrite.testing.rule_report import Verdict
    from qrewrite.testing.verify_pack import verify_pack
    from qrewrite.testing.verify_rule import Effort

    effort = Effort(arguments.examples, arguments.seed)

    def progress(report: Report) -> None:
        if sys.stderr.isatty():
            print(f"{report.rule}: {report.verdict.value}", file=sys.stderr)

    reports = verify_pack(pack, rules, effort, arguments.jobs, progress)
    saved = {
        report.rule: str(
            save(report.counterexample, report.rule, " ".join(arguments.packs), Path(arguments.out))
        )
        for report in reports
        if report.counterexample is not None
    }
    if arguments.json:
        from qrewrite.console import print_json

        print_json([record(report, saved.get(report.rule)) for report in reports])
    else:
        _print(reports, saved)
    return 0 if all(report.verdict is Verdict.HOLDS for report in reports) else FAILED


def record(report: Report, saved: str | None) -> dict[str, object]:
    return {
        "rule": report.rule,
        "verdict": report.verdict.value,
        "reason": report.reason,
        "examples": report.meant,
        "fired": report.fired,
        "near_misses": report.misses,
        "near_misses_fired": report.misses_fired,
        "quanta": max(report.found.quanta, report.kernels.quanta),
        "relative": max(report.found.relative, report.kernels.relative),
        "share": report.kernels.share,
        "seconds": round(report.seconds, 1),
        "counterexample": saved,
    }


def _print(reports: list[Report], saved: dict[str, str]) -> None:
    from qrewrite.console import Table, print_table

    rows = tuple(
        (
            report.rule,
            f"{report.fired}/{report.meant}",
            f"{report.misses_fired}/{report.misses}",
            f"{max(report.found.quanta, report.kernels.quanta):g}",
            f"{report.kernels.share:.2%}",
            report.verdict.value,
        )
        for report in reports
    )
    heads = ("rule", "fired", "near misses fired", "quanta", "differ", "verdict")
    print_table(Table(heads, rows, frozenset({1, 2, 3, 4})))
    for report in reports:
        if report.reason:
            print(f"\n{report.rule}: {report.reason}")
        if report.rule in saved:
            print(f"  {saved[report.rule]} (what it is, and how to replay it: the .txt beside it)")


def _replay(pack: Pack, rules: list[PackRule], path: Path) -> int:
    from qrewrite.testing.counterexamples import replay

    if len(rules) != 1:
        raise VerifyError("--replay needs --rule with the name of one rule")
    found = replay(pack, rules[0], path)
    print(f"{rules[0].full_name}: {found.problem or 'holds on this model'}")
    return FAILED if found.problem else 0


def _mutate(pack: Pack, rules: list[PackRule], arguments: argparse.Namespace) -> int:
    from qrewrite.testing.mutants import mutants_of
    from qrewrite.testing.refute import Fate, fate

    survivors, total, implied = [], 0, 0
    for rule in rules:
        for mutant in mutants_of(pack, rule):
            total += 1
            found = fate(mutant, arguments.examples, arguments.seed)
            implied += found is Fate.IMPLIED
            if found is Fate.SURVIVES:
                survivors.append({"rule": rule.full_name, "mutant": mutant.what})
    if arguments.json:
        from qrewrite.console import print_json

        print_json({"mutants": total, "implied": implied, "survivors": survivors})
    else:
        for each in survivors:
            print(f"{each['rule']}: survives: {each['mutant']}")
        killed = total - implied - len(survivors)
        print(f"{killed} of {total - implied} mutants killed; {implied} lack what others imply")
    return FAILED if survivors else 0
