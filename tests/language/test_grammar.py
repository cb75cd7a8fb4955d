"""The grammar is LALR(1) as it stands: no conflict is settled silently."""

from __future__ import annotations

import logging

import lark
import pytest
from lark import Lark

from qrewrite.patterns.reading.grammar import GRAMMAR


def conflicts(grammar: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        Lark(grammar, parser="lalr", start="file", debug=True)
    return [record.getMessage() for record in caplog.records if "onflict" in record.getMessage()]


def test_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    assert conflicts(GRAMMAR.read_text(encoding="utf-8"), caplog) == []


def test_a_conflict_would_be_seen(caplog: pytest.LogCaptureFixture) -> None:
    grammar = 'file: "if" file | "if" file "else" file | "x"'
    assert conflicts(grammar, caplog) != []
