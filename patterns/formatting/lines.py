"""One statement as lines: the author's breaks, and more where a line is too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .tokens import Piece

WIDTH = 100
CONTINUED = 4
BODY = 4
FARTHEST = 60
"""Columns from which on nothing is lined up any more."""
HANGING = {"where": 6, "let": 4, "arrow": 7, "then": 5, "hint": 5, "doc": 4, "rule_decl": 8}
"""How far lines that go on are indented, by the kind of statement."""
SPLITS = {"VBAR": 0, "WHERE": 0, "IF": 1, "ELSE": 1, "OR": 2, "AND": 3}
"""Tokens before which a long line may be broken; the greater number is the later resort."""
SETTINGS = frozenset({"RBRACE", "STRING", "TRUE", "FALSE", "INT", "FLOAT"})
"""What the text of an option, or one more string, may stand behind."""


@dataclass(slots=True)
class _State:
    """Where the statement stands: what later lines are lined up with."""

    kind: str
    indent: int
    brackets: list[tuple[int, int]] = field(default_factory=list)
    """Of each open bracket: the column of what is in it, the indentation of its line."""
    equals: int | None = None
    """The column of the ``=`` of a declaration."""
    where: int | None = None
    """The column of the ``where`` of an alternative."""


def set_statement(statement: Sequence[Piece], indent: int) -> list[str]:
    """The lines of a statement that starts at a column; the first piece's comments are not in."""
    state = _State(statement[0].starts, indent)
    lines: list[str] = []
    for number, segment in enumerate(_segments(statement)):
        if number:
            if segment[0].trailing:
                lines[-1] += f"  {segment[0].trailing}"
            column = _continuation(state, segment[0])
            lines += [" " * column + comment.text for comment in segment[0].comments]
        rest = segment
        while rest:
            column = _continuation(state, rest[0]) if lines else indent
            cut = _cut(rest, column)
            lines.append(_set_line(state, rest[:cut], column))
            rest = rest[cut:]
    return lines


def _segments(statement: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    """The statement cut where the author did; the brace of a body stays on the line before it."""
    start = 0
    for index in range(1, len(statement)):
        piece = statement[index]
        brace = index == len(statement) - 1 and piece.kind == "LBRACE"
        if piece.newline and not (brace and not piece.trailing and not piece.comments):
            yield statement[start:index]
            start = index
    yield statement[start:]


def _continuation(state: _State, first: Piece) -> int:
    """The column of a line that goes on with the statement."""
    if state.brackets:
        column, line = state.brackets[-1]
        if first.closes:
            return line
        return column - 1 if first.kind == "VBAR" else column
    if state.equals is None:
        return state.indent + HANGING.get(state.kind, CONTINUED)
    if first.kind == "VBAR":
        return state.equals
    if first.kind == "WHERE":
        return state.equals + 4
    return state.equals + 2 if state.where is None else state.where + 6


def _set_line(state: _State, line: Sequence[Piece], column: int) -> str:
    """The text of a line; the state moves on behind it."""
    text = " " * column
    for index, piece in enumerate(line):
        if index and not piece.close:
            text += " "
        last = index == len(line) - 1
        if piece.closes and state.brackets:
            state.brackets.pop()
        if not state.brackets and state.kind in ("pattern_decl", "guard_decl", "ops_decl"):
            _note_place(state, piece, len(text), last)
        text += piece.text
        if piece.opens:
            line_start = max(column, BODY) if state.kind == "arrow" else column
            far = last or len(text) > FARTHEST
            state.brackets.append((line_start + CONTINUED if far else len(text), line_start))
    return text


def _note_place(state: _State, piece: Piece, column: int, last: bool) -> None:
    if piece.kind == "EQUAL" and state.where is None:
        far = last or column > FARTHEST
        state.equals = state.indent + CONTINUED - 2 if far else column
    elif piece.kind == "WHERE":
        state.where = column
    elif piece.kind == "VBAR":
        state.where = None


def _cut(line: Sequence[Piece], column: int) -> int:
    """How many pieces of a line are set before it is broken; all where they fit."""
    width = column
    inner: list[int | None] = []
    best: tuple[int, int, int] | None = None
    for index, piece in enumerate(line):
        if piece.closes and inner:
            inner.pop()
        if index:
            split = _split(line[index - 1], piece)
            if split is not None and (width <= WIDTH or best is None):
                # Operands that start far to the right go on a line of their own as a whole.
                far = inner[-1] if inner else None
                place = (len(inner), split, -(index if far is None else far))
                # Outermost first, then the earlier resort, then the latest that fits.
                best = place if best is None else min(best, place)
            width += not piece.close
        width += len(piece.text)
        if piece.opens:
            inner.append(index + 1 if width > FARTHEST else None)
    return len(line) if width <= WIDTH or best is None else -best[2]


def _split(before: Piece, piece: Piece) -> int | None:
    """Whether a line may be broken between two pieces, and how late a resort that is."""
    if before.kind == "COMMA" or (piece.kind == "STRING" and before.kind in SETTINGS):
        return 0
    return SPLITS.get(piece.kind)
