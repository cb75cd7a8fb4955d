"""Parsed rule files and parser tables, kept in the user's cache folder.

Entries are pickles, so an entry is only read where nobody but the current user can have written
it.  Whatever goes wrong (no folder, no permission, a damaged entry) is a miss, never an error.
The folder is $QREWRITE_CACHE_DIR, else the place the system keeps for caches.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

FOLDER_VARIABLE = "QREWRITE_CACHE_DIR"
OPEN_TO_OTHERS = stat.S_IWGRP | stat.S_IWOTH
MAKERS = (
    "grammar.lark",
    "syntax/source.py",
    "syntax/expressions.py",
    "syntax/terms.py",
    "syntax/statements.py",
    "syntax/items.py",
    "reading/grammar.py",
    "reading/parse.py",
    "reading/cache.py",
    "reading/declarations.py",
    "reading/expressions.py",
    "reading/items.py",
    "reading/terms.py",
)
"""The files that decide what a text parses to."""


def cached(kind: str, content: bytes, expected: type[T], make: Callable[[], T]) -> T:
    """``make()``, or what it returned for the same content in an earlier process.

    An exception of ``make`` passes and nothing is kept.
    """
    entry = _entry(kind, content)
    if entry is None:
        return make()
    found = _read(entry)
    if isinstance(found, expected):
        return found
    made = make()
    _write(entry, made)
    return made


def cache_folder() -> Path | None:
    """Where entries are kept; None where the system names no place."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / "qrewrite" / "cache" if local else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "qrewrite"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if os.path.isabs(xdg) else home / ".cache") / "qrewrite"


def _entry(kind: str, content: bytes) -> Path | None:
    folder = cache_folder()
    maker = _maker()
    if folder is None or maker is None:
        return None
    key = hashlib.sha256(f"{kind}\0{maker}\0".encode() + content).hexdigest()
    return folder / f"{kind}-{key[:40]}.pickle"


def _maker() -> str | None:
    """What the entries depend on beside their content: Python and this parser, by size and time.

    Installing another version of the package changes the times of its files.
    """
    here = Path(__file__).parents[1]
    try:
        states = [os.stat(here / name) for name in MAKERS]
    except OSError:
        return None
    parts = [f"{state.st_size}.{state.st_mtime_ns}" for state in states]
    return " ".join([sys.version, *parts])


def _read(entry: Path) -> object:
    try:
        if not _is_own(os.stat(entry.parent, follow_symlinks=True)):
            return None
        descriptor = os.open(entry, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:
            return pickle.load(file) if _is_own(os.fstat(descriptor)) else None
    except OSError:
        return None
    except Exception:  # a damaged pickle can raise anything
        return None


def _is_own(state: os.stat_result) -> bool:
    if sys.platform == "win32":
        return True  # LOCALAPPDATA belongs to the user alone
    return state.st_uid == os.geteuid() and not state.st_mode & OPEN_TO_OTHERS


def _write(entry: Path, value: object) -> None:
    """Write through a temporary file: readers see the whole entry or none."""
    temporary = None
    try:
        data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=entry.parent, prefix=".", suffix=".tmp")
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, entry)
    except (OSError, RecursionError, pickle.PicklingError):
        if temporary is not None:
            _remove(temporary)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
