"""The examples of docs/explain.md are what is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from qrewrite.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"```text\n\$ qrewrite ([^\n]*)\n(.*?)```", re.DOTALL)
EXAMPLES = EXAMPLE.findall((ROOT / "docs" / "explain.md").read_text())


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_example(
    command: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)) == 0
    assert shown.rstrip() in capsys.readouterr().out


def test_there_are_six() -> None:
    assert len(EXAMPLES) == 6
