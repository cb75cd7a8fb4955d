"""A rule file and places in it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """A rule file's name, as shown in messages, and its whole text."""

    name: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of text in a source; lines and columns count from 1."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int
