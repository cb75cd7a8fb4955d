"""Where the checks put what they find."""

from __future__ import annotations

from ..diagnostics import Diagnostic, Severity, error, in_text_order, warning
from ..syntax import Span


class Report:
    """Diagnostics in the making: sorted by place, none repeated."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int, str], Diagnostic] = {}
        self.errors = 0

    def error(self, span: Span, message: str, note: str = "") -> None:
        if self._add(error(message, span, note), span):
            self.errors += 1

    def warning(self, span: Span, message: str, note: str = "") -> None:
        self._add(warning(message, span, note), span)

    def _add(self, diagnostic: Diagnostic, span: Span) -> bool:
        key = (span.source.name, span.line, span.column, diagnostic.message)
        if key in self._found:
            return False
        self._found[key] = diagnostic
        return True

    def diagnostics(self) -> list[Diagnostic]:
        """Errors and warnings in the order of the text; at one place errors come first."""
        found = sorted(self._found.values(), key=lambda each: each.severity is Severity.WARNING)
        return in_text_order(found)
