"""A rule file on disk: its text, and its syntax tree by way of the cache."""

from __future__ import annotations

from pathlib import Path

from ..diagnostics import failure
from ..syntax import File, Source
from .cache import cached

LARGEST = 512 * 1024
"""Bytes; a rule file is some kilobytes, a model given by mistake is not."""


def read_source(path: Path, shown: str | None = None) -> Source:
    """The text of a rule file: UTF-8, a byte order mark dropped, line ends made ``\\n``.

    ``shown`` is its name in messages, the path itself unless given.
    Raises RuleFileError if it cannot be read or is no text.
    """
    name = str(path) if shown is None else shown
    try:
        if path.stat().st_size > LARGEST:
            raise failure(f"{name}: too large for a rule file (more than {LARGEST // 1024} KiB)")
        data = path.read_bytes()
    except OSError as problem:
        raise failure(f"{name}: {problem.strerror or problem}") from None
    return decode(data, name)


def decode(data: bytes, name: str) -> Source:
    """The source of a file's bytes; see ``read_source``."""
    if b"\0" in data:
        raise failure(f"{name}: not a text file (it contains a NUL byte)")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise failure(f"{name}: not UTF-8 text (line {line})") from None
    return Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def parse_file(source: Source) -> File:
    """The syntax tree of a source, from the cache where the same text was parsed before.

    Raises RuleFileError with all syntax errors of the file.
    """

    def make() -> File:
        # lark is imported only here: a pack that is in the cache starts without it.
        from .parse import parse

        return parse(source)

    content = f"{source.name}\0{source.text}".encode("utf-8", "surrogatepass")
    return cached("tree", content, File, make)
