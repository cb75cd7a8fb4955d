"""Data files: made beside a model by copying ranges of others, never through Python's memory."""

from __future__ import annotations

import contextlib
import filecmp
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..errors import FileError
from .atomic import default_mode, finish, reason, temporary
from .external import DataRange

_PAGE = 4096
_LINE = 64
_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a data file to be made: where it goes, and where its bytes come from."""

    offset: int
    content: DataRange | bytes

    @property
    def length(self) -> int:
        return size_of(self.content)


def size_of(content: DataRange | bytes) -> int:
    """Length in bytes."""
    return len(content) if isinstance(content, bytes) else content.length


def lay_out(contents: Sequence[DataRange | bytes]) -> list[Part]:
    """Places for the contents, one behind the other, equal ones once; large ones start a page.

    The result has a part for each content, in their order.
    """
    places: dict[DataRange | bytes, Part] = {}
    end = 0
    parts = []
    for content in contents:
        part = places.get(content)
        if part is None:
            step = _PAGE if size_of(content) >= _PAGE else _LINE
            part = places[content] = Part(-(-end // step) * step, content)
            end = part.offset + part.length
        parts.append(part)
    return parts


@contextlib.contextmanager
def data_file(folder: Path, name: str, parts: Sequence[Part], *, exact: bool) -> Iterator[str]:
    """Makes a data file of these parts in `folder` and gives its name; an error takes it away.

    No file is overwritten: one of that name and content is used again, else a number is put into
    the name, or, where the name has to be `exact`, FileExistsError is raised.
    FileError, in one sentence, for what the operating system refuses.
    """
    wanted = folder / name
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        with temporary(wanted) as (file, temporary_name):
            write_parts(file, parts)
            finish(file)
            os.chmod(temporary_name, default_mode())
            made = _settle(temporary_name, wanted, exact)
    except FileExistsError:
        raise
    except OSError as error:
        raise FileError(f"cannot write data file {str(wanted)!r}: {reason(error)}") from error
    path, is_new = made
    try:
        yield path.relative_to(folder).as_posix()
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise


def _settle(temporary_name: str, wanted: Path, exact: bool) -> tuple[Path, bool]:
    """Give a finished file its name; (path, False) where that file is there with this content."""
    for number in itertools.count():
        path = wanted if not number else wanted.with_name(f"{wanted.stem}_{number}{wanted.suffix}")
        if not os.path.lexists(path):
            os.rename(temporary_name, path)
            return path, True
        if path.is_file() and filecmp.cmp(temporary_name, path, shallow=False):
            return path, False
        if exact:
            raise FileExistsError(f"{path} exists and holds something else")
    raise AssertionError("numbers do not end")


def write_parts(file: BinaryIO, parts: Sequence[Part]) -> None:
    """Write each part at its place; gaps read as zeros."""
    with contextlib.ExitStack() as stack:
        sources: dict[Path, BinaryIO] = {}
        for part in dict.fromkeys(parts):
            content = part.content
            if isinstance(content, bytes):
                file.seek(part.offset)
                file.write(content)
                continue
            source = sources.get(content.file)
            if source is None:
                source = sources[content.file] = stack.enter_context(content.file.open("rb"))
            copy_range(source, content.offset, file, part.offset, content.length)


def copy_range(source: BinaryIO, start: int, target: BinaryIO, place: int, length: int) -> None:
    """Copy bytes between open files: by the operating system, or where it cannot, in small pieces.

    FileError if the source ends before.
    """
    target.flush()
    done = _copy_in_kernel(source.fileno(), start, target.fileno(), place, length)
    source.seek(start + done)
    target.seek(place + done)
    while done < length:
        piece = source.read(min(_BUFFER, length - done))
        if not piece:
            raise FileError("an external data file became shorter while it was copied")
        target.write(piece)
        done += len(piece)


def _copy_in_kernel(source: int, start: int, target: int, place: int, length: int) -> int:
    """The number of bytes copied before the operating system had enough of it."""
    done = 0
    if hasattr(os, "copy_file_range"):
        with contextlib.suppress(OSError):  # not between these file systems, say: pieces then
            while done < length:
                count = os.copy_file_range(
                    source, target, length - done, start + done, place + done
                )
                if not count:
                    break
                done += count
    return done
