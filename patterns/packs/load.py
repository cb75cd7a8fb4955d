"""From names, folders and files to a Pack: what ``--pack`` and ``--rules`` mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..diagnostics import Diagnostic, RuleFileError, error, failure
from .find import find_pack, find_parent, prelude_file
from .layer import HEADER_FILE, Layer, file_layer, folder_layer, python_imports, read_files
from .merge import Lineage, merge
from .pack import Pack


def load_pack(
    *packs: str | Path, rules: Sequence[str | Path] = (), allow_python: bool = False
) -> Pack:
    """The packs asked for, one over the other, and single rule files on top.

    A pack is a name (shipped or installed), a folder, or a rule file with a header.  A later pack
    or rule file replaces rules of earlier ones by name.  The prelude is always in scope.

    A rule runs in the phase it names (``in PHASE``, or ``phase PHASE`` earlier in its file), else
    in ``fuse`` if there is such a phase, else in the last.  Rule files without a header use the
    phases of the packs below them; alone, they have the phases that they name, in that order.

    Raises RuleFileError with every error found in reading and joining them; Python functions of
    files that are neither shipped nor installed are one, unless allowed.
    """
    layers = [find_pack(str(pack)) for pack in packs] + [_rule_file(Path(path)) for path in rules]
    if not layers:
        raise failure("no pack and no rule file given")
    return _join(layers, allow_python)


def load_file(path: str | Path) -> Pack:
    """The pack of the folder that a rule file is in, or of the file alone if that is no pack's.

    This is what checking a file means; nothing of Python is imported, so its functions are let in.
    Raises RuleFileError as ``load_pack`` does.
    """
    file = Path(path)
    if file.is_dir():
        return _join([folder_layer(file, trusted=True)], allow_python=True)
    if file.resolve() == prelude_file().resolve():
        return _join([], allow_python=True)
    if (file.parent / HEADER_FILE).is_file():
        return _join([folder_layer(file.parent, trusted=True)], allow_python=True)
    return _join([_rule_file(file)], allow_python=True)


def _rule_file(path: Path) -> Layer:
    if not path.exists():
        raise failure(f"{path}: there is no such file")
    return folder_layer(path, trusted=False) if path.is_dir() else file_layer(path)


def _join(layers: Sequence[Layer], allow_python: bool) -> Pack:
    lineages = [Lineage(tuple(_with_parents(layer, ()))) for layer in layers]
    if not allow_python:
        _refuse_python(lineages)
    return merge(read_files([prelude_file()]), lineages)


def _with_parents(layer: Layer, children: tuple[str, ...]) -> list[Layer]:
    """The layer and its ancestors, ancestors first, each once.

    Raises RuleFileError for parents that are unknown or extend each other in a circle.
    """
    found: list[Layer] = []
    problems: list[Diagnostic] = []
    header = layer.header
    names = () if header is None else header.parents
    for name in names:
        assert header is not None
        chain = (*children, layer.name)
        if name in chain:
            circle = " extends ".join((*chain[chain.index(name) :], name))
            problems.append(error("packs extend each other in a circle", header.span, circle))
            continue
        beside = Path(header.span.source.name).parent.parent
        try:
            parents = _with_parents(find_parent(name, header.span, beside), chain)
        except RuleFileError as problem:
            problems += problem.diagnostics
            continue
        found += [parent for parent in parents if parent not in found]
    if problems:
        raise RuleFileError(problems)
    return [*found, layer]


def _refuse_python(lineages: Sequence[Lineage]) -> None:
    problems = [
        error(
            "Python functions are off for rule files that are not installed",
            python.span,
            "allow them only for files you trust: they run with your rights",
        )
        for lineage in lineages
        for layer in lineage.layers
        if not layer.trusted
        for python in python_imports(layer.files)
    ]
    if problems:
        raise RuleFileError(problems)
