"""A rule file as a list of tokens that know how they are spaced and what stands between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token, Tree

from ..reading.expressions import Branch, tokens
from ..reading.grammar import parser
from ..syntax import Source

BODIES = ("pack", "rule_decl")
LINES = frozenset(
    {"extends", "needs", "phases", "without", "option"}
    | {"assign", "each_use", "some_use", "no_use", "connected", "where", "let"}
    | {"arrow", "replacement", "exact", "within_quanta", "within_relative", "lossy"}
    | {"then", "compare_codes", "hint", "doc"}
)
"""What starts a line in the body of a rule or pack header."""
PREFIXED = frozenset({"rest", "rest_attrs", "drop_attrs", "borrow", "negative"})
"""Branches that start with a mark which stands close to what follows."""
CLOSE_BEFORE = frozenset(
    {"COMMA", "RPAR", "RSQB", "DOT", "COLON", "QUESTION", "ELLIPSIS", "NODE_MARK", "COMMUTED"}
)
CLOSE_AFTER = frozenset({"LPAR", "LSQB", "DOT", "DOMAIN", "BORROW"})
CALLED = frozenset({"NAME", "RBRACE", "NODE_MARK", "COMMUTED", "RSQB"})
"""What a bracket of operands or an index stands close to."""
_COMMENT = re.compile(r"#[^\n]*")


@dataclass(frozen=True, slots=True)
class Comment:
    text: str
    blank_before: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A token: its text, how it is set, and the comments and line end that stand before it."""

    kind: str
    text: str
    close: bool
    """No space before it."""
    opens: bool
    closes: bool
    starts: str
    """The kind of the statement that it is the first token of, or ``""``."""
    trailing: str
    """A comment behind the token before it, on that token's line."""
    comments: tuple[Comment, ...]
    blank_before: bool
    newline: bool
    """In the source it is the first of its line."""


def pieces(source: Source) -> list[Piece]:
    """The tokens of a file that parses, and at the end an empty one with what is left.

    A comment belongs to the token behind it.
    """
    text = source.text
    lark = parser()
    tree = lark.parse(text)
    marks = _Marks.of(tree)
    found: list[Piece] = []
    previous: Token | None = None
    interactive = lark.parse_interactive(text)
    for token in [*interactive.iter_parse(), Token("$END", "", start_pos=len(text))]:
        end = 0 if previous is None else previous.end_pos or 0
        found.append(_piece(token, previous, text[end : token.start_pos], marks))
        previous = token
    return found


@dataclass(frozen=True, slots=True)
class _Marks:
    """Places in the text, known from the tree."""

    starts: dict[int, str]
    """Where statements start, and of which kind they are."""
    prefixes: frozenset[int]
    """Marks that stand close to the token behind them: ``*rest``, ``-1``."""
    angles: frozenset[int]
    """``<`` and ``>`` that are brackets of attributes."""
    suffixes: frozenset[int]
    """Tokens that stand close to the one before: ``{op}Name`` of ``QLinear{op}Name``, ``50%``."""

    @staticmethod
    def of(tree: Branch) -> _Marks:
        starts: dict[int, str] = {}
        prefixes: set[int] = set()
        angles: set[int] = set()
        suffixes: set[int] = set()
        for branch in tree.iter_subtrees():
            if branch.meta.empty:  # a file without items
                continue
            start, end = branch.meta.start_pos, branch.meta.end_pos
            signed = branch.data == "number" and isinstance(branch.children[0], Token)
            if branch.data in ("attrs", "decl_attrs"):
                angles |= {start, end - 1}
            elif signed or branch.data in PREFIXED:
                prefixes.add(start)
            elif branch.data == "share":
                suffixes.add(end - 1)
            elif branch.data == "op_slot":
                suffixes |= {
                    start,
                    *(token.start_pos or 0 for token in tokens(branch.children)[1:]),
                }
        for item in tree.children:
            assert isinstance(item, Tree)
            starts[item.meta.start_pos] = item.data
            starts.update(_inner_starts(item))
        return _Marks(starts, frozenset(prefixes), frozenset(angles), frozenset(suffixes))


def _inner_starts(item: Branch) -> Iterator[tuple[int, str]]:
    """The statements inside of a rule or a pack header; the first replacement follows the arrow."""
    if item.data not in BODIES:
        return
    after_arrow = False
    for child in item.children:
        if not isinstance(child, Tree):
            continue
        if child.data == "replacement" and after_arrow:
            after_arrow = False
        elif child.data in LINES:
            after_arrow = child.data == "arrow"
            yield child.meta.start_pos, child.data


def _piece(token: Token, previous: Token | None, gap: str, marks: _Marks) -> Piece:
    position = token.start_pos or 0
    angle = position in marks.angles
    trailing, comments, blank = _comments(gap, previous is None)
    return Piece(
        kind=token.type,
        text=str(token),
        close=previous is None or _is_close(token, previous, marks),
        opens=token.type in ("LPAR", "LSQB", "LBRACE") or (angle and token.type == "LT"),
        closes=token.type in ("RPAR", "RSQB", "RBRACE") or (angle and token.type == "GT"),
        starts=marks.starts.get(position, ""),
        trailing=trailing,
        comments=comments,
        blank_before=blank,
        newline="\n" in gap,
    )


def _comments(gap: str, at_start: bool) -> tuple[str, tuple[Comment, ...], bool]:
    """The trailing comment, the comments on lines of their own, and a blank line after them."""
    trailing = ""
    comments: list[Comment] = []
    position = 0
    for match in _COMMENT.finditer(gap):
        before = gap[position : match.start()]
        text = match[0].rstrip()
        if not at_start and position == 0 and "\n" not in before:
            trailing = text
        else:
            comments.append(Comment(text, _is_blank(before)))
        position = match.end()
    return trailing, tuple(comments), _is_blank(gap[position:])


def _is_blank(space: str) -> bool:
    """There is an empty line in it; what stands before it ends in a line of its own."""
    return space.count("\n") > 1


def _is_close(token: Token, previous: Token, marks: _Marks) -> bool:
    """No space stands between two tokens."""
    position, before = token.start_pos or 0, previous.start_pos or 0
    if before in marks.prefixes or previous.type in CLOSE_AFTER:
        return True
    if before in marks.angles and previous.type == "LT":
        return True
    if position in marks.angles or position in marks.suffixes or token.type in CLOSE_BEFORE:
        return True
    if previous.type == "LBRACE" or token.type == "RBRACE":
        return True
    if token.type in ("LPAR", "LSQB"):
        ends_attributes = before in marks.angles and previous.type == "GT"
        ends_index = token.type == "LSQB" and previous.type == "RPAR"
        return previous.type in CALLED or ends_attributes or ends_index
    return False
