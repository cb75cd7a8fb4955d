"""Each architecture in each setting of onnxruntime's quantizer, beside onnxruntime's own fusion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from architectures import ARCHITECTURES, SETTINGS, build, draw_inputs

from qrewrite.rewriting import rewrite_by

from .checks import assert_valid, operations, program, session

FEEDS = draw_inputs(6)
QUICK = {"u8u8_op24", "s8s8_symmetric", "tensorrt", "u16s8"}


def own_fusion(path: Path, folder: Path) -> onnx.ModelProto:
    """What onnxruntime makes of the model at ORT_ENABLE_EXTENDED."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "own.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "own.onnx")


def own_precise_session(path: Path) -> onnxruntime.InferenceSession:
    """All of onnxruntime's optimizations, on kernels that do not saturate."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def quantizers(model: onnx.ModelProto) -> int:
    """How many of either domain are left."""
    counts = operations(model)
    return sum(count for op, count in counts.items() if op.lower().endswith("quantizelinear"))


def mean_difference(
    left: onnxruntime.InferenceSession, right: onnxruntime.InferenceSession
) -> float:
    """Over all outputs and inputs, in units of the output."""
    differences = [
        float(np.abs(one.astype(np.float64) - other).mean())
        for feeds in FEEDS
        for one, other in zip(left.run(None, feeds), right.run(None, feeds), strict=True)
    ]
    return float(np.mean(differences))


@pytest.mark.parametrize(
    "setting",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SETTINGS],
)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_no_worse_than_onnxruntime(architecture: str, setting: str, tmp_path: Path) -> None:
    """No more Q and DQ left than theirs, and no further from the unfused model."""
    path = build(architecture, SETTINGS[setting], tmp_path)
    result = rewrite_by(program("ort-cpu", ()), path).model
    assert_valid(result)
    assert quantizers(result) <= quantizers(own_fusion(path, tmp_path))
    reference = session(onnx.load(path))
    ours = mean_difference(reference, session(result))
    theirs = mean_difference(reference, own_precise_session(path))
    assert ours <= 1.05 * theirs + 1e-6
