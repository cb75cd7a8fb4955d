"""From the text of a rule file to its syntax tree."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from .build_expressions import Branch, span_of
from .build_items import item
from .diagnostics import Diagnostic, RuleFileError, failure
from .syntax import File, Item, Source

GRAMMAR = Path(__file__).with_name("grammar.lark")
DEEPEST = 200
"""Levels of lark's tree. A pattern of 40 ops one inside the other stays below it."""


def parse(source: Source) -> File:
    """The syntax tree of a rule file.

    Raises RuleFileError with an error for each item that is not in the language.
    """
    try:
        tree = _parser().parse(source.text)
    except UnexpectedInput as problem:
        raise failure(str(problem)) from None
    items: list[Item] = []
    problems: list[Diagnostic] = []
    for child in tree.children:
        assert isinstance(child, Tree)
        try:
            _check_depth(child, source)
            items.append(item(child, source))
        except RuleFileError as problem:
            problems += problem.diagnostics
    if problems:
        raise RuleFileError(problems)
    return File(source, tuple(items))


def _check_depth(branch: Branch, source: Source) -> None:
    """Refuse what would exhaust Python's stack in the functions that walk the tree."""
    level: list[Branch] = [branch]
    for _ in range(DEEPEST):
        level = [child for each in level for child in each.children if isinstance(child, Tree)]
        if not level:
            return
    raise failure("this is nested too deeply", span_of(level[0], source))


def _parser() -> Lark:
    return Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        start="file",
        propagate_positions=True,
        maybe_placeholders=True,
    )
