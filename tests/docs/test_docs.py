"""The documents: links lead somewhere, snippets run, pages of packs are fresh."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "tests/models/*.md") for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\S+\.rules)\n")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(document: Path) -> set[str]:
    """The fragment of each heading, as GitHub makes it."""
    titles = HEADING.findall(document.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links(document: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(), flags=re.DOTALL)
    for link in LINK.findall(text):
        if link.startswith("https://"):
            continue
        place, _, fragment = link.partition("#")
        target = (document.parent / place).resolve() if place else document
        assert target.exists(), link
        assert not fragment or fragment in anchors(target), link


def blocks(document: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(document.read_text()) if found == kind]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which the snippets find the repository's models."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    # The commands of the documents are those of this environment.
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    finished = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, f"{command}\n{finished.stdout}{finished.stderr}"
    return finished.stdout


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_python_snippets(document: str, folder: Path) -> None:
    for snippet in blocks(ROOT / document, "python"):
        run([sys.executable, "-c", snippet], folder)


def test_worked_example(folder: Path) -> None:
    """The rule files of the README are written, and its `qrewrite` commands run in order."""
    readme = ROOT / "README.md"
    for text in blocks(readme, "rules"):
        named = NAMED.match(text)
        assert named, "a rule file of the README starts with its name"
        (folder / named.group(1)).write_text(text)
    commands = [
        line
        for block in blocks(readme, "bash")
        for line in block.splitlines()
        if line.startswith("qrewrite ")
    ]
    assert len(commands) >= 2
    for command in commands:
        run(["bash", "-c", command], folder)
    made = [node.op_type for node in onnx.load(folder / "npu.onnx").graph.node]
    assert made.count("QLinearHardSigmoid") == 9


def test_setup_commands_stand_once() -> None:
    """`.ci/run` takes the two commands of the README by these words."""
    readme = (ROOT / "README.md").read_text()
    assert readme.count(".venv/bin/qrewrite apply") == readme.count(".venv/bin/pytest") == 1


def test_pages_of_packs_are_fresh() -> None:
    run([sys.executable, str(ROOT / ".ci" / "pages.py"), "--check"], ROOT)


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    for command in ("explain", "diff", "apply", "check", "fmt", "packs"):
        shown = run([sys.executable, "-m", "qrewrite.cli", command, "--help"], ROOT)
        for option in set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help"}:
            assert option in text, f"{command} {option}"
