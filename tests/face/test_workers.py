"""Workers that fail: the others go on, and an interrupt leaves nothing half-done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest

from .command import add_model

# Runs the command line with a `rewrite_by` that, for models named so, dies or never ends.
DRIVER = """
import os, sys, time
import qrewrite.batch
from qrewrite.cli import main

rewrite_by = qrewrite.batch.rewrite_by

def faulty(program, model, progress=None):
    if model.name == "dies.onnx":
        os._exit(9)
    if model.name == "hangs.onnx":
        open("started", "w").close()
        time.sleep(600)
    return rewrite_by(program, model, progress)

qrewrite.batch.rewrite_by = faulty
sys.exit(main(sys.argv[1:]))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")


def start(folder: Path, *models: str) -> subprocess.Popen[str]:
    (folder / "out").mkdir()
    for model in models:
        onnx.save(add_model(), folder / model)
    words = ["apply", *models, "-o", "out", "--pack", "ort-cpu", "--jobs", "2"]
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_worker_that_dies(tmp_path: Path) -> None:
    process = start(tmp_path, "dies.onnx", "good.onnx")
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "dies.onnx" in error and "status 9" in error and "Traceback" not in error
    assert os.listdir(tmp_path / "out") == ["good.onnx"]


def test_interrupt(tmp_path: Path) -> None:
    process = start(tmp_path, "hangs.onnx", "good.onnx")
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal: parent and workers get it
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert error == "qrewrite: interrupted\n"
    assert set(os.listdir(tmp_path / "out")) <= {"good.onnx"}
