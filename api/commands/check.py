"""`qrewrite check`: every error and warning of rule files and packs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from qrewrite.console import print_json

if TYPE_CHECKING:
    from qrewrite.patterns.diagnostics import Diagnostic

FAILED = 1


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="report every error and warning of rule files",
        description="Report every error and warning of rule files and pack folders; "
        "exit status 1 if there is an error.",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a rule file or the folder of a pack"
    )
    parser.add_argument("--json", action="store_true", help="print the messages as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from qrewrite.loading import check_file
    from qrewrite.patterns.diagnostics import has_errors

    # Packs may have parents in common: what is wrong with a parent is said once.
    found = list(
        {
            diagnostic.render(): diagnostic
            for file in arguments.files
            for diagnostic in check_file(file)
        }.values()
    )
    if arguments.json:
        print_json([_record(diagnostic) for diagnostic in found])
    else:
        _print(found)
    return FAILED if has_errors(found) else 0


def _print(found: list[Diagnostic]) -> None:
    for diagnostic in found:
        print(diagnostic.render(), end="\n\n")
    errors = sum(diagnostic.severity.value == "error" for diagnostic in found)
    print(f"{counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _record(diagnostic: Diagnostic) -> dict[str, object]:
    span = diagnostic.span
    return {
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "note": diagnostic.note,
        "file": span.source.name if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "end_line": span.end_line if span else None,
        "end_column": span.end_column if span else None,
    }
