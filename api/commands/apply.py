"""`qrewrite apply`: rewrite models by packs and rules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qrewrite.commands.argument_types import positive
from qrewrite.console import print_json, print_table
from qrewrite.engine.errors import QrewriteError
from qrewrite.report import Report, fired_table, html_page, ops_table, record, totals

if TYPE_CHECKING:
    from qrewrite.commands.compare import Blamer, Verified
    from qrewrite.rewriting import Recipe
    from qrewrite.targets import Target

SOME_FAILED = 2
BEYOND_CLAIMS = 1
REPORT_FORMS = (".html", ".json")


class UsageError(QrewriteError):
    """Options that do not go together."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "apply",
        help="rewrite models by packs and rules",
        description="Rewrite models by packs and rules until no rule fires any more.",
    )
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help="a model, or a folder searched for *.onnx")
    add("-o", "--output", metavar="OUT", help="the file to write; of several models the folder")
    add("--pack", action="append", default=[], metavar="PACK", help="a pack's name or folder")
    add(
        "--rules",
        action="append",
        default=[],
        metavar="FILE",
        help="a rule file on top of the packs",
    )
    add("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of the pack")
    for option, meaning in (
        ("--only", "fire only these rules, or only on these nodes"),
        ("--skip", "never fire these rules, or leave these nodes alone"),
    ):
        add(option, action="append", default=[], metavar="rule:GLOB|node:GLOB", help=meaning)
    add("--allow-python", action="store_true", help="let rule files import Python functions")
    add("--report", metavar="FILE.html|.json", help="write a report")
    add("--dry-run", action="store_true", help="write no model")
    add("--json", action="store_true", help="print the report as JSON")
    add("--jobs", type=positive, metavar="N", help="models worked on at a time (one a CPU)")
    add("--verify", action="store_true", help="run the models before and after and compare them")
    add("--inputs", metavar="FILE.npz", help="what to run them on (keys: input or case|input)")
    add("--blame", action="store_true", help="find the rewrite that is wrong, and save where it is")
    add("--blame-dir", metavar="DIR", help="where it is saved (beside OUT)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from qrewrite.batch import run_all
    from qrewrite.commands import compare
    from qrewrite.targets import find_targets

    _check_usage(arguments)
    recipe = recipe_of(arguments)
    targets = find_targets(arguments.models, None if arguments.dry_run else arguments.output)
    if arguments.verify:
        _keep_originals(targets)
    reports = run_all(recipe, targets, arguments.jobs)
    if arguments.report:
        _write_report(Path(arguments.report), reports)
    verified: list[Verified | None] = [None] * len(reports)
    if arguments.verify:
        program, blamer = recipe.prepare(), _blamer(arguments)
        verified = compare.verify_reports(program, reports, arguments.inputs, blamer)
    if arguments.json:
        found = [None if each is None else compare.record(each) for each in verified]
        rows = zip(reports, found, strict=True)
        print_json([record(report) | ({"verify": each} if each else {}) for report, each in rows])
    else:
        for report, each in zip(reports, verified, strict=True):
            _print(report)
            if each is not None:
                compare.print_verified(each, arguments.blame)
    for report in reports:
        if report.error:
            print(f"qrewrite: {report.error}", file=sys.stderr)
    if any(report.error for report in reports):
        return SOME_FAILED
    return BEYOND_CLAIMS if any(each is not None and not each.passed for each in verified) else 0


def _check_usage(arguments: argparse.Namespace) -> None:
    """Refuse before any work what cannot end well."""
    if not arguments.pack and not arguments.rules:
        raise UsageError("apply needs --pack PACK or --rules FILE (see qrewrite packs)")
    if arguments.output is None and not arguments.dry_run:
        raise UsageError("apply needs -o OUT, or --dry-run")
    if arguments.verify and arguments.dry_run:
        raise UsageError("--verify compares the file that is written: it needs -o OUT")
    if arguments.inputs and not arguments.verify:
        raise UsageError("--inputs belongs to --verify")
    if arguments.blame and not arguments.verify:
        raise UsageError("--blame belongs to --verify")
    if arguments.blame_dir and not arguments.blame:
        raise UsageError("--blame-dir belongs to --blame")
    if arguments.verify:
        from qrewrite.commands.compare import check_inputs

        check_inputs(arguments.inputs)
    if arguments.report:
        from qrewrite.engine.io.atomic import check_target

        if Path(arguments.report).suffix.lower() not in REPORT_FORMS:
            raise UsageError(f"--report takes a .html or .json file, not {arguments.report!r}")
        check_target(Path(arguments.report))


def _keep_originals(targets: Sequence[Target]) -> None:
    """--verify reads both files afterwards: a result may not replace the model it came from."""
    for target in targets:
        if target.output and target.output.exists() and target.output.samefile(target.model):
            raise UsageError(
                f"--verify compares {str(target.model)!r} with the result:"
                " write that to another file than the model itself"
            )


def _blamer(arguments: argparse.Namespace) -> Blamer | None:
    from qrewrite.commands.compare import Blamer

    if not arguments.blame:
        return None
    folder = Path(arguments.blame_dir) if arguments.blame_dir else None
    return Blamer(Path(arguments.output), folder)


def recipe_of(arguments: argparse.Namespace) -> Recipe:
    """What the options that choose packs, rules and nodes say."""
    from qrewrite.rewriting import Recipe

    options = {}
    for text in arguments.set:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"--set takes OPTION=VALUE, not {text!r}")
        options[name] = value
    return Recipe(
        packs=tuple(arguments.pack),
        rules=tuple(arguments.rules),
        options=options,
        only=tuple(arguments.only),
        skip=tuple(arguments.skip),
        allow_python=arguments.allow_python,
    )


def _write_report(path: Path, reports: Sequence[Report]) -> None:
    from qrewrite.engine.io.atomic import replacing

    if path.suffix.lower() == ".html":
        text = html_page(reports)
    else:
        text = json.dumps([record(report) for report in reports], indent=2) + "\n"
    with replacing(path) as file:
        file.write(text.encode())


def _print(report: Report) -> None:
    if report.summary is None:
        return
    written = report.output or "no file (dry run)"
    print(f"{report.model} -> {written}   pack {report.pack}, {report.seconds:.2f} s\n")
    if not report.summary.fired:
        print("no rule fired: the model goes out as it came in\n")
        return
    print_table(fired_table(report.summary))
    print()
    print_table(ops_table(report.summary))
    print(f"\n{totals(report.summary)}")
    for note in report.summary.notes:
        print(f"re-coded: {note}")
    print()
