"""Packs and rule files, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qrewrite.patterns.check import check_pack
from qrewrite.patterns.diagnostics import Diagnostic, RuleFileError, Severity
from qrewrite.patterns.load_pack import load_file
from qrewrite.patterns.load_pack import load_pack as read_pack
from qrewrite.patterns.pack import Pack

PackLike = str | Path | Pack


def load_pack(
    *packs: str | Path, rules: Sequence[str | Path] = (), allow_python: bool = False
) -> Pack:
    """The packs asked for, one over the other, and single rule files on top.

    A pack is a name (shipped or installed) or a folder.  A later pack or rule file replaces rules
    of earlier ones by name.  `allow_python` lets files that are not installed import the Python
    functions that they name.

    Raises RuleError with every error in them.
    """
    pack = read_pack(*packs, rules=rules, allow_python=allow_python)
    errors = [found for found in check_pack(pack, lint=False) if found.severity is Severity.ERROR]
    if errors:
        raise RuleFileError(errors)
    return pack


def load_rules(*files: str | Path, allow_python: bool = False) -> Pack:
    """Rule files without a pack below them; see `load_pack`."""
    return load_pack(rules=files, allow_python=allow_python)


def check_file(path: str | Path) -> list[Diagnostic]:
    """Every error and warning of a rule file or of the pack in a folder.

    Raises RuleError if there is no such file, or if it is no text.
    """
    try:
        return check_pack(load_file(path))
    except RuleFileError as error:
        if all(found.span is None for found in error.diagnostics):
            raise
        return list(error.diagnostics)
