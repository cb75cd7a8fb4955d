"""From the text of a rule file to its syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lark import Lark, Tree
from lark.exceptions import UnexpectedInput

from ..diagnostics import Diagnostic, RuleFileError, failure
from ..syntax import File, Item, Source, Span
from .expressions import Branch, span_of
from .grammar import parser
from .items import item
from .syntax_errors import describe

DEEPEST_BRACKETS = 100
DEEPEST_TREE = 200
"""Levels of lark's tree: a pattern of 50 ops one inside the other, a sum of 190 terms."""
MOST_ERRORS = 100

_ITEM = re.compile(
    r"^(?:pack|include|python|op|ops|commutative|property|pattern|guard|phase|rule)\b", re.MULTILINE
)
_BRACKETS = re.compile(r'"(?:\\.|[^"\\\n])*"|#[^\n]*|([(\[{])|([)\]}])')


def parse(source: Source) -> File:
    """The syntax tree of a rule file.

    Raises RuleFileError with an error for each item that is not in the language: after an error,
    reading goes on at the next line that starts with the first word of an item.
    """
    _check_brackets(source)
    lark = parser()
    items, problems = _read(lark, source.text, 0, source)
    if not problems:
        return File(source, tuple(items))
    found: list[Diagnostic] = []
    for line, text in _chunks(source.text):
        found += problems if text == source.text else _read(lark, text, line, source)[1]
        if len(found) >= MOST_ERRORS:
            break
    raise RuleFileError(found or problems)


def _read(lark: Lark, text: str, line: int, source: Source) -> tuple[list[Item], list[Diagnostic]]:
    """The items of a part of the source that starts behind ``line`` lines, and what is wrong."""
    try:
        tree = lark.parse(text)
    except UnexpectedInput as problem:
        return [], [_moved(describe(problem, lark, source), line)]
    items: list[Item] = []
    problems: list[Diagnostic] = []
    for child in tree.children:
        assert isinstance(child, Tree)
        try:
            _check_depth(child, source)
            items.append(item(child, source))
        except RuleFileError as error:
            problems += [_moved(each, line) for each in error.diagnostics]
    return items, problems


def _moved(diagnostic: Diagnostic, lines: int) -> Diagnostic:
    span = diagnostic.span
    if span is None or not lines:
        return diagnostic
    span = replace(span, line=span.line + lines, end_line=span.end_line + lines)
    return replace(diagnostic, span=span)


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """The text cut before each line that starts an item, each part with the lines before it."""
    starts = [match.start() for match in _ITEM.finditer(text)]
    line = 0
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        if start < end:
            yield line, text[start:end]
        line += text.count("\n", start, end)


def _check_brackets(source: Source) -> None:
    """Refuse brackets nested so deep that no person wrote them, before the parser sees them."""
    depth = 0
    for match in _BRACKETS.finditer(source.text):
        if match[1]:
            depth += 1
        elif match[2]:
            depth = max(0, depth - 1)
        if depth > DEEPEST_BRACKETS:
            before = source.text[: match.start()]
            line = before.count("\n") + 1
            column = match.start() - (before.rfind("\n") + 1) + 1
            message = f"brackets are nested more than {DEEPEST_BRACKETS} deep"
            raise failure(message, Span(source, line, column, line, column + 1))


def _check_depth(branch: Branch, source: Source) -> None:
    """Refuse what would exhaust Python's stack in the functions that walk the tree."""
    level: list[Branch] = [branch]
    for _ in range(DEEPEST_TREE):
        level = [child for each in level for child in each.children if isinstance(child, Tree)]
        if not level:
            return
    raise failure("this is nested too deeply", span_of(level[0], source))
