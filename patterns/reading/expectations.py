"""What the parser would have accepted, in words of the language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MOST_WORDS = 6
"""Expected words listed in one message."""

WORDS = {
    "NAME": "a name",
    "DOMAIN": "a name",
    "PACK_NAME": "a name",
    "STRING": "a string",
    "INT": "a number",
    "FLOAT": "a number",
    "SIGNED": "a whole number",
    "ARROW": '"=>"',
    "NODE_MARK": '"("',
}
ORDER = ("ARROW", "RPAR", "RBRACE", "RSQB", "GT", "EQUAL", "COLON", "COMMA", "VBAR")
"""Terminals that are named first: those that close or go on with what was begun."""
MARKS = frozenset({"QUESTION", "ELLIPSIS", "NODE_MARK", "COMMUTED", "DOT", "COLON", "MINUS"})
"""What may follow nearly every name; worth a word only where nothing else can."""
OPERATORS = frozenset(
    {"PLUS", "MINUS", "STAR", "SLASH", "SLASHSLASH", "PERCENT", "EQ", "NE", "LE", "GE", "LT", "GT"}
    | {"AND", "OR", "NOT", "IN", "IF", "WITH", "LSQB", "LPAR", "DOT"}
)
"""What may follow nearly every expression."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Terminals that are accepted together, and the words for them all."""

    sign: frozenset[str]
    """Where all of these are accepted, the group is."""
    words: str
    members: frozenset[str]


_GROUPS = (
    _Group(
        frozenset({"RULE", "PATTERN", "GUARD"}),
        "a new item (rule, pattern, guard, ops, …)",
        frozenset(
            {"PACK", "PYTHON", "OP", "OPS", "PROPERTY", "PHASE", "COMMUTATIVE", "INCLUDE", "$END"}
        ),
    ),
    _Group(
        frozenset({"ARROW", "WHERE", "LET"}),
        '"=>"',
        frozenset({"CONNECTED", "EACH", "SOME", "NO", "NAME", "COMMA"}),
    ),
    _Group(frozenset({"ARROW", "LET"}), '"=>"', frozenset({"WHERE", "COMMA"})),
    _Group(
        frozenset({"EXACT", "RBRACE"}),
        '"}" or a claim (exact, within …, lossy …)',
        frozenset({"WITHIN", "LOSSY", "THEN", "COMPARE", "HINT", "DOC", "NAME"}),
    ),
    _Group(
        frozenset({"LSQB", "NAME", "TRUE", "STRING"}),
        "an expression",
        frozenset({"FLOAT", "INT", "MINUS", "NONE", "FALSE", "NOT", "LPAR"}),
    ),
    _Group(
        frozenset({"BORROW", "NAME"}),
        "an operand",
        frozenset(
            {"DOMAIN", "FLOAT", "INT", "LPAR", "LSQB", "MINUS", "NONE", "STAR", "UNDERSCORE"}
        ),
    ),
    _Group(
        frozenset({"TRUE", "STRING"}),
        "true, false, a number or a string",
        frozenset({"FALSE", "INT", "FLOAT", "MINUS"}),
    ),
)


def expectation(accepted: Iterable[str], literals: Mapping[str, str]) -> str:
    """The accepted terminals as ``"," or ")"``; ``literals``: the text of keywords and marks."""
    names = set(accepted)
    groups: list[str] = []
    for group in _GROUPS:
        if group.sign <= names:
            groups.append(group.words)
            names -= group.sign | group.members
    if {"PLUS", "STAR"} <= names:  # behind an expression
        operators = OPERATORS if "EQ" in names else OPERATORS - {"GT"}
        names = names - operators if groups or names - operators else names
    if groups or names - MARKS:
        names -= MARKS
    words: list[str] = []
    for name in sorted(names - {"$END"}, key=_rank):
        word = WORDS.get(name) or f'"{literals.get(name, name)}"'
        if word not in words:
            words.append(word)
    closing = sum(name in ORDER for name in names)
    words[closing:closing] = groups
    shown = words[:MOST_WORDS]
    if not shown:
        return "the end of the file"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _rank(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)
