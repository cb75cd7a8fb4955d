"""The folders of the repository and the packages they are installed as."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {"api": "qrewrite", "engine": "qrewrite.engine", "patterns": "qrewrite.patterns"}
# What a package may import of the others. The face may import all.
BELOW = {
    "engine": set[str](),
    "patterns": {"qrewrite.engine"},
    "rules": set[str](),
}
HEAVY = ("onnx", "onnxruntime", "hypothesis", "lark", "numpy", "rich")


def settings() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def package_folders() -> dict[str, Path]:
    """Import name and folder of every folder that holds Python files."""
    found = {"qrewrite.rules": ROOT / "rules"}
    for folder, package in FOLDERS.items():
        for file in (ROOT / folder).rglob("*.py"):
            parts = file.parent.relative_to(ROOT / folder).parts
            found[".".join((package, *parts))] = file.parent
    return found


def test_every_package_is_installed() -> None:
    assert sorted(settings()["packages"]) == sorted(package_folders())


def test_every_package_folder_is_marked() -> None:
    unmarked = [
        name for name, path in package_folders().items() if not (path / "__init__.py").exists()
    ]
    assert unmarked == []


def imported_modules(file: Path, package: str) -> set[str]:
    """Absolute names of what a file imports, at its top or inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            )
            module = ".".join([*base, *([node.module] if node.module else [])])
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("folder", sorted(BELOW))
def test_imports_run_one_way(folder: str) -> None:
    own = f"qrewrite.{folder}"
    allowed = (own, *BELOW[folder])
    wrong = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        package = ".".join(("qrewrite", *file.parent.relative_to(ROOT).parts))
        for name in imported_modules(file, package):
            ours = name == "qrewrite" or name.startswith("qrewrite.")
            if ours and not any(name == top or name.startswith(f"{top}.") for top in allowed):
                wrong.append(f"{file.relative_to(ROOT)} imports {name}")
    assert wrong == []


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import qrewrite",
        "import qrewrite; qrewrite.__version__, dir(qrewrite)",
        "from qrewrite.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from qrewrite.cli import main\ntry: main(['apply', '--help'])\nexcept SystemExit: pass",
    ],
)
def test_start_is_light(code: str) -> None:
    assert modules_after(code).isdisjoint(HEAVY)


def test_the_core_imports_no_extra() -> None:
    """onnxruntime and hypothesis are extras: what rewrites a model does without them."""
    code = (
        "import qrewrite.batch, qrewrite.rewriting\nfrom qrewrite.commands import apply, check, fmt"
    )
    assert modules_after(code).isdisjoint({"onnxruntime", "hypothesis"})
