"""Running the command line in tests, and small models to run it on."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODELS = Path(__file__).parents[1] / "models"


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: str
    stderr: str


def qrewrite(*words: str | Path, folder: Path, stdin: str = "") -> Outcome:
    """Run `qrewrite WORDS` in a process of its own, in `folder`."""
    run = subprocess.run(
        [sys.executable, "-m", "qrewrite.cli", *map(str, words)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Outcome(run.returncode, run.stdout, run.stderr)


def assert_refused(outcome: Outcome, *parts: str) -> None:
    """Exit status 2 and one message on stderr that holds `parts`; no traceback."""
    assert outcome.status == 2, outcome
    assert outcome.stdout == "", outcome.stdout
    assert "Traceback" not in outcome.stderr, outcome.stderr
    assert outcome.stderr.startswith("qrewrite"), outcome.stderr
    assert len(outcome.stderr.strip().splitlines()) == 1, outcome.stderr
    for part in parts:
        assert part in outcome.stderr, outcome.stderr


def add_model(name: str = "sum", *, extra: list[onnx.NodeProto] | None = None) -> onnx.ModelProto:
    """Q(Add(DQ(a), DQ(b))) on uint8 tensors of shape [2, 3], the Add named `name`.

    Nodes of `extra` read the value `q` (uint8) and stand after it.
    """
    parameters = {"s": np.float32(0.1), "z": np.uint8(128)}
    nodes = [
        helper.make_node("DequantizeLinear", ["a", "s", "z"], ["fa"], name="dq_a"),
        helper.make_node("DequantizeLinear", ["b", "s", "z"], ["fb"], name="dq_b"),
        helper.make_node("Add", ["fa", "fb"], ["f"], name=name),
        helper.make_node("QuantizeLinear", ["f", "s", "z"], ["q"], name="q"),
        *(extra or []),
    ]
    graph = helper.make_graph(
        nodes,
        "add",
        [helper.make_tensor_value_info(n, TensorProto.UINT8, [2, 3]) for n in "ab"],
        [helper.make_tensor_value_info("q", TensorProto.UINT8, [2, 3])],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in parameters.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def ops(path: Path) -> list[str]:
    return sorted(node.op_type for node in onnx.load(path).graph.node)
