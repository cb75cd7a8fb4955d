"""Messages about rule files: where, how bad, what is wrong, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from qrewrite.engine.errors import RuleError

from .syntax import Span

SHOWN_WIDTH = 120
"""Characters of a source line that are shown; of longer lines the part around the error."""


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message; ``span`` is None where no place in a file is at fault (an unknown pack)."""

    severity: Severity
    message: str
    span: Span | None = None
    note: str = ""
    """How to mend it, or what else is involved; shown on a line of its own."""

    def render(self) -> str:
        """``file:line:column: error: message``, the source line, a line of carets, the note."""
        lines = [f"{self.headline()}"]
        if self.span is not None:
            lines += excerpt(self.span)
        if self.note:
            lines.append(f"  note: {self.note}")
        return "\n".join(lines)

    def headline(self) -> str:
        """The message on one line, without the source line."""
        if self.span is None:
            return f"{self.severity.value}: {self.message}"
        place = f"{self.span.source.name}:{self.span.line}:{self.span.column}"
        return f"{place}: {self.severity.value}: {self.message}"


class RuleFileError(RuleError):
    """A rule file or pack that cannot be used; carries every diagnostic that was found."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(diagnostic.render() for diagnostic in self.diagnostics))

    def __reduce__(self) -> tuple[type[RuleFileError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)


def error(message: str, span: Span | None = None, note: str = "") -> Diagnostic:
    return Diagnostic(Severity.ERROR, message, span, note)


def warning(message: str, span: Span | None = None, note: str = "") -> Diagnostic:
    return Diagnostic(Severity.WARNING, message, span, note)


def failure(message: str, span: Span | None = None, note: str = "") -> RuleFileError:
    """An exception with one error, to be raised."""
    return RuleFileError([error(message, span, note)])


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def in_text_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by file and place; those without a place come first."""

    def place(diagnostic: Diagnostic) -> tuple[str, int, int]:
        span = diagnostic.span
        return ("", 0, 0) if span is None else (span.source.name, span.line, span.column)

    return sorted(diagnostics, key=place)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was probably meant to be."""
    names = sorted(set(known))
    folded = {candidate.lower(): candidate for candidate in names}
    if name.lower() in folded:
        return folded[name.lower()]
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A note naming the nearest known name, or ``""``."""
    candidate = nearest(name, known)
    return f'did you mean "{candidate}"?' if candidate is not None else ""


def excerpt(span: Span) -> list[str]:
    """The source line of a span and a line of carets under it; tabs stand in both."""
    lines = span.source.text.split("\n", span.line)
    if span.line > len(lines):
        return []
    line = lines[span.line - 1].rstrip("\r")
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    end = min(max(end, start + 1), max(len(line), start + 1))
    first = max(0, start - SHOWN_WIDTH // 2) if len(line) > SHOWN_WIDTH else 0
    shown = "".join(_printable(c) for c in line[first : first + SHOWN_WIDTH])
    end = min(end, first + SHOWN_WIDTH)
    blank = "".join("\t" if c == "\t" else " " for c in line[first:start])
    blank += " " * (start - first - len(blank))
    before = "..." if first else ""
    after = "..." if first + SHOWN_WIDTH < len(line) else ""
    return [f"  {before}{shown}{after}", f"  {' ' * len(before)}{blank}{'^' * (end - start)}"]


def _printable(character: str) -> str:
    return (
        character if character == "\t" or character.isprintable() else "\N{REPLACEMENT CHARACTER}"
    )
