"""Packs and rule files, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from qrewrite.patterns.diagnostics import Diagnostic, RuleFileError
from qrewrite.patterns.packs.find import rules_folder
from qrewrite.patterns.packs.load import load_file
from qrewrite.patterns.packs.load import load_pack as read_pack
from qrewrite.patterns.packs.pack import Pack

FilePath = str | PathLike[str]
PackLike = FilePath | Pack
"""A pack's name, its folder, or a pack that is loaded already."""


def load_pack(*packs: FilePath, rules: Sequence[FilePath] = (), allow_python: bool = False) -> Pack:
    """The packs asked for, one over the other, and single rule files on top.

    A pack is a name (shipped or installed) or a folder.  A later pack or rule file replaces rules
    of earlier ones by name.  `allow_python` lets files that are not installed import the Python
    functions that they name.

    Raises RuleError with every error in them.
    """
    names, files = [fspath(pack) for pack in packs], [fspath(file) for file in rules]
    pack = read_pack(*names, rules=files, allow_python=allow_python)
    if not _ships(pack):
        from qrewrite.patterns.check import load_errors

        errors = load_errors(pack)
        if errors:
            raise RuleFileError(errors)
    return pack


def load_rules(*files: FilePath, allow_python: bool = False) -> Pack:
    """Rule files without a pack below them; see `load_pack`."""
    return load_pack(rules=files, allow_python=allow_python)


def check_file(path: FilePath) -> list[Diagnostic]:
    """Every error and warning of a rule file or of the pack in a folder.

    Raises RuleError if there is no such file, or if it is no text.
    """
    from qrewrite.patterns.check import check_pack

    try:
        return check_pack(load_file(fspath(path)))
    except RuleFileError as error:
        if all(found.span is None for found in error.diagnostics):
            raise
        return list(error.diagnostics)


def _ships(pack: Pack) -> bool:
    """Whether all of it comes with qrewrite: the tests check that, so no start has to."""
    shipped = rules_folder()
    return all(Path(source.name).is_relative_to(shipped) for source in pack.sources)
