"""Errors of a pack that has been checked before: it is loaded often and changed seldom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx

import qrewrite.engine.schemas.known

from ..diagnostics import Diagnostic, Severity
from ..packs.pack import Pack
from ..reading.cache import cached
from .pack_checks import PackChecks


def load_errors(pack: Pack) -> list[Diagnostic]:
    """The errors that keep a pack from being used; not those of rules beside each other.

    They are found once for the same files, the same version of this package and of onnx.
    """

    def find() -> tuple[Diagnostic, ...]:
        checks = PackChecks(pack)
        checks.each_rule()
        found = checks.report.diagnostics()
        return tuple(each for each in found if each.severity is Severity.ERROR)

    content = "\0".join((*_described(pack), onnx.__version__, *_checkers()))
    return list(cached("errors", content.encode(), tuple, find))


def _described(pack: Pack) -> Iterator[str]:
    yield from (pack.name, *pack.parents, *pack.phases)
    yield from (each.full_name for each in pack.rules)
    for source in pack.sources:
        yield from (source.name, source.text)


def _checkers() -> Iterator[str]:
    """State of the files that decide what is wrong: their sizes and times."""

    engine = Path(qrewrite.engine.schemas.known.__file__).parents[1]
    for folder in (Path(__file__).parent, Path(__file__).parents[1] / "functions", engine):
        for file in sorted(folder.rglob("*.py")):
            state = file.stat()
            yield f"{file.name} {state.st_size} {state.st_mtime_ns}"
