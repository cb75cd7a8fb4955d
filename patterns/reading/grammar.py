"""The parser of the grammar: its tables are built once and kept in the cache folder."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import lark
from lark import Lark

from .cache import cached

GRAMMAR = Path(__file__).parents[1] / "grammar.lark"


@cache  # the grammar does not change while the program runs; a pack has a dozen files
def parser() -> Lark:
    """The LALR parser; building its tables takes half a second, reading them some milliseconds."""
    text = GRAMMAR.read_text(encoding="utf-8")

    def make() -> bytes:
        buffer = io.BytesIO()
        build(text).save(buffer)
        return buffer.getvalue()

    tables = cached("tables", f"{lark.__version__}\0{text}".encode(), bytes, make)
    return Lark.load(io.BytesIO(tables))


def build(grammar: str) -> Lark:
    """The parser of a grammar's text, built anew."""
    return Lark(
        grammar,
        parser="lalr",
        start="file",
        propagate_positions=True,
        maybe_placeholders=True,
    )
