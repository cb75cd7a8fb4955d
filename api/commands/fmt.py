"""`qrewrite fmt`: format rule files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from qrewrite.engine.errors import FileError

WOULD_CHANGE = 1
STANDARD = "-"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "fmt",
        help="format rule files",
        description="Format rule files in place; a file that is formatted already is not touched.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a rule file, a folder of them, or - for standard input to output",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit status 1 if a file would change"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Format all files or, where one has a syntax error, none."""
    from qrewrite.engine.io.atomic import replacing
    from qrewrite.patterns.formatting.format import format_source
    from qrewrite.patterns.reading.files import decode

    if arguments.files == [STANDARD]:
        data = sys.stdin.buffer.read()
        text = format_source(decode(data, "<stdin>"))
        if arguments.check:
            return WOULD_CHANGE if text.encode() != data else 0
        sys.stdout.write(text)
        return 0
    changed: list[tuple[Path, bytes]] = []
    for path in _rule_files(arguments.files):
        data = path.read_bytes()
        formatted = format_source(decode(data, str(path))).encode()
        if formatted != data:
            changed.append((path, formatted))
    for path, formatted in changed:
        if arguments.check:
            print(f"{path} would change")
            continue
        with replacing(path) as file:
            file.write(formatted)
        print(f"{path} formatted")
    return WOULD_CHANGE if arguments.check and changed else 0


def _rule_files(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        if path.is_dir():
            yield from sorted(path.rglob("*.rules"))
        elif path.exists():
            yield path
        else:
            raise FileError(f"there is no file {name!r}")
