"""A layer: what one pack's own files say, before parents and other packs are taken into account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, RuleFileError, error, failure
from ..reading.files import parse_file, read_source
from ..syntax import File, Include, PackHeader, PythonImport

HEADER_FILE = "pack.rules"
SUFFIX = ".rules"
LONGEST_CHAIN = 50
"""Files that include one another in a row."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A pack's header (None: rule files alone) and its files, each once, included ones as well."""

    name: str
    header: PackHeader | None
    files: tuple[File, ...]
    trusted: bool
    """Shipped or installed: its Python functions may be used without asking."""


def folder_layer(folder: Path, *, trusted: bool) -> Layer:
    """The pack in a folder: ``pack.rules`` holds the header, every ``*.rules`` belongs to it.

    Raises RuleFileError with the errors of all its files.
    """
    if not (folder / HEADER_FILE).is_file():
        raise failure(f"{folder}: no pack here, a pack's folder holds a file {HEADER_FILE}")
    try:
        own = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.is_file())
    except OSError as problem:
        raise failure(f"{folder}: {problem.strerror or problem}") from None
    files = read_files(own)
    header = _header(files, folder / HEADER_FILE)
    return Layer(header.name, header, files, trusted)


def file_layer(path: Path) -> Layer:
    """A rule file that stands alone; with a header of its own it is a pack of one file."""
    files = read_files([path])
    own = [header for _, header in headers(files)]
    header = own[0] if own else None
    if header is not None:
        _header(files, path)
    return Layer(path.stem if header is None else header.name, header, files, trusted=False)


def headers(files: tuple[File, ...]) -> Iterator[tuple[File, PackHeader]]:
    for file in files:
        for item in file.items:
            if isinstance(item, PackHeader):
                yield file, item


def _header(files: tuple[File, ...], place: Path) -> PackHeader:
    """The one header of a pack, which stands in the file ``place``."""
    found = [header for _, header in headers(files)]
    if not found:
        raise failure(
            f'{place}: expected the header of the pack, as in pack NAME "title" {{ phases fuse }}'
        )
    first = next((each for each in found if each.span.source.name == str(place)), found[0])
    extra: list[Diagnostic] = [
        error("a pack has one header", each.span, f"the pack is {first.name}, in {place.name}")
        for each in found
        if each is not first
    ]
    if extra:
        raise RuleFileError(extra)
    return first


def read_files(paths: list[Path]) -> tuple[File, ...]:
    """The files and those they include, each once, in a fixed order.

    Raises RuleFileError with all syntax errors, missing files and circles of includes.
    """
    reader = _Reader({}, [], [])
    for path in paths:
        reader.read(path)
    if reader.problems:
        raise RuleFileError(reader.problems)
    return tuple(reader.files.values())


@dataclass(slots=True)
class _Reader:
    """Reads files and their includes depth first."""

    files: dict[Path, File]
    chain: list[Path]
    problems: list[Diagnostic]

    def read(self, path: Path) -> None:
        real = path.resolve()
        if real in self.files:
            return
        try:
            file = parse_file(read_source(path))
        except RuleFileError as problem:
            self.problems += problem.diagnostics
            return
        self.files[real] = file
        self.chain.append(real)
        for item in file.items:
            if isinstance(item, Include):
                self._include(item, path.parent)
        self.chain.pop()

    def _include(self, include: Include, folder: Path) -> None:
        path = folder / include.path
        real = path.resolve()
        if path.suffix != SUFFIX:
            self.problems.append(
                error(f"only files that end in {SUFFIX} are included", include.span)
            )
        elif real in self.chain:
            names = [each.name for each in (*self.chain[self.chain.index(real) :], real)]
            circle = " includes ".join(names)
            self.problems.append(
                error("files include each other in a circle", include.span, circle)
            )
        elif len(self.chain) == LONGEST_CHAIN:
            self.problems.append(error("too many files include one another", include.span))
        elif not path.is_file():
            self.problems.append(error(f'there is no file "{include.path}" here', include.span))
        else:
            self.read(path)


def python_imports(files: tuple[File, ...]) -> Iterator[PythonImport]:
    for file in files:
        for item in file.items:
            if isinstance(item, PythonImport):
                yield item
