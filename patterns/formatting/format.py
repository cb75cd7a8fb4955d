"""The canonical form of a rule file: ``qrewrite fmt``.

Spacing, indentation and the lines that statements start on are ours; line breaks inside a
statement, single blank lines between statements and comments are the author's.  Formatting twice
changes nothing, and the result parses to the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..reading.parse import parse
from ..syntax import Source
from .lines import set_statement
from .tokens import BODIES, LINES, Piece, pieces

BODY = 4
ARROW = 1


def format_source(source: Source) -> str:
    """The text in canonical form; an empty file stays empty.

    Raises RuleFileError with all syntax errors of the file.
    """
    before = parse(source)
    found = pieces(source)
    lines: list[str] = []
    item, opened = "", True
    for statement in _statements(found[:-1]):
        first = statement[0]
        inside = first.kind == "RBRACE" or first.starts in LINES
        spaced = not inside and bool({item, first.starts} & set(BODIES)) and bool(lines)
        _set_comments(lines, first, BODY if inside else 0, opened, spaced)
        if not inside:
            item = first.starts
        lines += set_statement(statement, _indent(first))
        opened = statement[-1].kind == "LBRACE" and item in BODIES
    _set_comments(lines, found[-1], 0, opened, False)
    text = "".join(f"{line}\n" for line in lines)
    assert parse(Source(source.name, text)).items == before.items, "formatting changed the meaning"
    return text


def _indent(first: Piece) -> int:
    if first.starts == "arrow":
        return ARROW
    return BODY if first.starts in LINES else 0


def _set_comments(lines: list[str], piece: Piece, indent: int, opened: bool, spaced: bool) -> None:
    """The comments before a statement and its blank lines.

    ``opened``: nothing stands before it in the file or body, so no blank line does; ``spaced``: a
    blank line does in any case.
    """
    if piece.trailing:
        lines[-1] += f"  {piece.trailing}"
    closes = piece.kind == "RBRACE"
    blanks = [comment.blank_before for comment in piece.comments]
    blanks.append(piece.blank_before and not closes and piece.kind != "$END")
    if opened or (spaced and not any(blanks)):
        blanks[0] = spaced and not opened
    for comment, blank in zip(piece.comments, blanks, strict=False):
        lines += [""] if blank else []
        lines.append(" " * indent + comment.text)
    lines += [""] if blanks[-1] else []


def _statements(found: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The pieces cut before each that starts a statement, and around the braces of a body."""
    current: list[Piece] = []
    item, depth = "", 0
    for piece in found:
        closes_body = piece.kind == "RBRACE" and depth == 1 and item in BODIES
        if current and (piece.starts or closes_body):
            yield current
            current = []
        if depth == 0 and piece.starts:
            item = piece.starts
        current.append(piece)
        if piece.kind == "LBRACE" and depth == 0 and item in BODIES:
            yield current
            current = []
        depth += piece.opens - piece.closes
    if current:
        yield current
