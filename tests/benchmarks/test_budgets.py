"""The budgets of speed, on CPU time, so that a busy machine does not decide."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.slow


def figures(script: str, folder: Path, *words: str) -> Any:
    output = folder / "figures.json"
    subprocess.run(
        [sys.executable, HERE / script, *words, "--json", output], check=True, timeout=900
    )
    return json.loads(output.read_text())


def test_linear_in_nodes_and_nearly_flat_in_rules(tmp_path: Path) -> None:
    ratios = figures("scaling.py", tmp_path, "--nodes", "1000", "20000", "--rounds", "3")
    assert ratios["nodes"] <= 1.3
    assert ratios["rules"] <= 1.5


def test_faster_than_onnxruntime_and_onnx_ir(tmp_path: Path) -> None:
    """The benchmark's figures are about 5 and 2; one round on a busy machine is not as exact."""
    timings = figures("processes.py", tmp_path, "--nodes", "90000", "--rounds", "1")
    seconds = {timing["program"]: timing["cpu_seconds"] for timing in timings}
    assert seconds["onnxruntime"] / seconds["qrewrite"] >= 4
    assert seconds["onnx_ir"] / seconds["qrewrite"] >= 1
