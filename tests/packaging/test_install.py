"""Installed as a wheel and in editable mode: import, console script and types, from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "tests" / "models" / "ppocr_cls.u8s8pc.op13.pre.onnx"
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", "tests"
)
TYPED_USE = """
import qrewrite
result: qrewrite.RewriteResult = qrewrite.rewrite("model.onnx", "ort-cpu")
result.save("out.onnx")
reveal_type(result.model)
result.no_such_attribute
"""

pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MYPYPATH")}
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def done(*command: str | Path, folder: Path) -> str:
    finished = run(*command, folder=folder)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, so that building leaves nothing behind in it."""
    return shutil.copytree(
        ROOT, tmp_path_factory.mktemp("source") / "qrewrite", ignore=NOT_SOURCE, symlinks=True
    )


def new_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def borrow_dependencies(python: Path) -> None:
    """Let an environment use the dependencies that this one has; our own package it installs."""
    site = Path(
        done(python, "-c", "import site; print(site.getsitepackages()[0])", folder=ROOT).strip()
    )
    (site / "zz_dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done(sys.executable, "-m", "build", "--wheel", "--outdir", folder, source, folder=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and just the dependencies that the wheel asks for."""
    folder = tmp_path_factory.mktemp("wheel_environment")
    python = new_environment(folder / "venv")
    done(python, "-m", "pip", "install", "-q", wheel, folder=folder)
    return python


@pytest.fixture(scope="module")
def strict_python(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return editable(
        source, tmp_path_factory.mktemp("strict"), "--config-settings=editable_mode=strict"
    )


@pytest.fixture(scope="module")
def lenient_python(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return editable(source, tmp_path_factory.mktemp("lenient"))


def editable(source: Path, folder: Path, *options: str) -> Path:
    own_source = shutil.copytree(source, folder / "source")
    python = new_environment(folder / "venv")
    borrow_dependencies(python)
    done(
        python, "-m", "pip", "install", "-q", "--no-deps", *options, "-e", own_source, folder=folder
    )
    return python


@pytest.fixture(params=["wheel_python", "strict_python", "lenient_python"])
def python(request: pytest.FixtureRequest) -> Path:
    installed: Path = request.getfixturevalue(request.param)
    return installed


def test_import_and_console_script(python: Path, tmp_path: Path) -> None:
    version = done(python, "-c", "import qrewrite; print(qrewrite.__version__)", folder=tmp_path)
    command = python.with_name("qrewrite")
    assert done(command, "--version", folder=tmp_path) == f"qrewrite {version}"
    assert "ort-cpu" in done(command, "packs", folder=tmp_path)
    done(command, "apply", MODEL, "-o", "out.onnx", "--pack", "ort-cpu", folder=tmp_path)
    assert (tmp_path / "out.onnx").stat().st_size > 0


def test_wheel_holds_every_file(wheel: Path, source: Path) -> None:
    """Modules, the grammar, rules and the mark of a typed package: none is left behind."""
    expected = {
        "/".join(("qrewrite", *((folder,) if folder != "api" else ()), *path.parts))
        for folder in ("api", "engine", "patterns", "rules")
        for path in (
            file.relative_to(source / folder)
            for file in (source / folder).rglob("*")
            if file.is_file()
        )
    }
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == expected


def test_nothing_else_is_installed_at_top_level(wheel_python: Path, tmp_path: Path) -> None:
    for name in ("api", "engine", "patterns", "rules", "tests"):
        assert run(wheel_python, "-c", f"import {name}", folder=tmp_path).returncode != 0


def test_the_core_needs_no_extra(wheel_python: Path, tmp_path: Path) -> None:
    for extra in ("onnxruntime", "hypothesis"):
        assert run(wheel_python, "-c", f"import {extra}", folder=tmp_path).returncode != 0


@pytest.mark.parametrize("installed", ["wheel_python", "strict_python"])
def test_types_are_seen_from_elsewhere(
    installed: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """mypy sees the types, and objects to what does not exist."""
    python = request.getfixturevalue(installed)
    (tmp_path / "use.py").write_text(TYPED_USE)
    checked = run(
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        python,
        "use.py",
        folder=tmp_path,
    )
    assert 'Revealed type is "onnx.' in checked.stdout, checked.stdout + checked.stderr
    errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1 and "no_such_attribute" in errors[0], checked.stdout
