"""Writing files whole or not at all, with one sentence for what stands in the way."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import FileError


def check_target(path: Path) -> Path:
    """The path that writing to `path` really replaces (links are followed).

    FileError where the folder is missing or read-only, or the target is a folder, a device or a
    read-only file. Permission bits are asked, not tried: root may write what is marked read-only.
    """
    target = Path(os.path.realpath(path))
    folder = target.parent
    if not folder.is_dir():
        raise FileError(f"cannot write {str(path)!r}: the folder {str(folder)!r} does not exist")
    if target.is_dir():
        raise FileError(f"cannot write {str(path)!r}: it is a folder")
    if target.exists():
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode):
            raise FileError(f"cannot write {str(path)!r}: it is not a regular file")
        if not _writable(target, mode):
            raise FileError(f"cannot write {str(path)!r}: the file is read-only")
    if not _writable(folder, folder.stat().st_mode):
        raise FileError(f"cannot write {str(path)!r}: the folder {str(folder)!r} is read-only")
    return target


def _writable(path: Path, mode: int) -> bool:
    anybody = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    return bool(mode & anybody) and os.access(path, os.W_OK)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file open for writing that becomes `path` at the end; after an error nothing is left.

    FileError, in one sentence, for whatever the operating system refuses (a full disk, say).
    """
    target = check_target(path)
    with _errors_of(path), temporary(target) as (file, name):
        yield file
        finish(file)
        os.chmod(name, _mode(target))
        os.replace(name, target)


@contextlib.contextmanager
def temporary(target: Path) -> Iterator[tuple[BinaryIO, str]]:
    """A new file beside `target`, open for reading and writing, and its name.

    Whatever happens, the name is gone at the end: move or link the file before.
    """
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file, name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def finish(file: BinaryIO) -> None:
    """Have the content of a file on the disk."""
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot write {str(path)!r}: {reason(error)}") from error


def reason(error: OSError) -> str:
    """The operating system's words for an error, in lower case and without the file name."""
    if error.errno == errno.ENOSPC:
        return "the disk is full"
    return (error.strerror or str(error)).lower()


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or else those that a new file gets."""
    return stat.S_IMODE(target.stat().st_mode) if target.exists() else default_mode()


def default_mode() -> int:
    """The permissions that a new file gets."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
