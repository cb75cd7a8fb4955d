"""`qrewrite apply`: rewrite models by packs and rules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qrewrite.engine.errors import QrewriteError

if TYPE_CHECKING:
    from qrewrite.batch import Job
    from qrewrite.report import Report

SOME_FAILED = 2
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
    selects = {"action": "append", "default": [], "metavar": "rule:GLOB|node:GLOB"}
    add("--only", help="fire only these rules, or only on these nodes", **selects)
    add("--skip", help="never fire these rules, or leave these nodes alone", **selects)
    add("--allow-python", action="store_true", help="let rule files import Python functions")
    add("--report", metavar="FILE.html|.json", help="write a report")
    add("--dry-run", action="store_true", help="write no model")
    add("--json", action="store_true", help="print the report as JSON")
    add("--jobs", type=_positive, metavar="N", help="models worked on at a time (one a CPU)")
    parser.set_defaults(run=run)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def run(arguments: argparse.Namespace) -> int:
    from qrewrite.batch import run_jobs

    _check_usage(arguments)
    jobs = _jobs(arguments)
    reports = run_jobs(jobs, arguments.jobs)
    if arguments.report:
        _write_report(Path(arguments.report), reports)
    if arguments.json:
        from qrewrite.report import record

        print(json.dumps([record(report) for report in reports], indent=2))
    else:
        for report in reports:
            _print(report)
    for report in reports:
        if report.error:
            print(f"qrewrite: {report.error}", file=sys.stderr)
    return SOME_FAILED if any(report.error for report in reports) else 0


def _check_usage(arguments: argparse.Namespace) -> None:
    """Refuse before any work what cannot end well."""
    if not arguments.pack and not arguments.rules:
        raise UsageError("apply needs --pack PACK or --rules FILE (see qrewrite packs)")
    if arguments.output is None and not arguments.dry_run:
        raise UsageError("apply needs -o OUT, or --dry-run")
    if arguments.report:
        from qrewrite.engine.atomic import check_target

        if Path(arguments.report).suffix.lower() not in REPORT_FORMS:
            raise UsageError(f"--report takes a .html or .json file, not {arguments.report!r}")
        check_target(Path(arguments.report))


def _jobs(arguments: argparse.Namespace) -> list[Job]:
    from qrewrite.batch import Job
    from qrewrite.targets import find_targets

    options = {}
    for text in arguments.set:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"--set takes OPTION=VALUE, not {text!r}")
        options[name] = value
    output = None if arguments.dry_run else arguments.output
    return [
        Job(
            model=target.model,
            output=target.output,
            packs=tuple(arguments.pack),
            rules=tuple(arguments.rules),
            options=tuple(options.items()),
            only=tuple(arguments.only),
            skip=tuple(arguments.skip),
            allow_python=arguments.allow_python,
        )
        for target in find_targets(arguments.models, output)
    ]


def _write_report(path: Path, reports: Sequence[Report]) -> None:
    from qrewrite.engine.atomic import replacing
    from qrewrite.report import html_page, record

    if path.suffix.lower() == ".html":
        text = html_page(reports)
    else:
        text = json.dumps([record(report) for report in reports], indent=2) + "\n"
    with replacing(path) as file:
        file.write(text.encode())


def _print(report: Report) -> None:
    from qrewrite.console import print_table
    from qrewrite.report import fired_table, ops_table, totals

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
