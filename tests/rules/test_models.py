"""ort-cpu on small real models: valid, fused ops exact, no more Q and DQ than onnxruntime leaves.

`tests/corpus.json` records the op counts after `ort-cpu` beside those of onnxruntime 1.32 at
ORT_ENABLE_EXTENDED, so that every change shows in review; it proves nothing by itself. To renew it:
`python -m tests.rules.test_models`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto

from .checks import apply, assert_fused_ops_exact, assert_valid, operations, run, session

MODELS = Path(__file__).parent.parent / "models"
CORPUS = Path(__file__).parent.parent / "corpus.json"
NAMES = sorted(path.stem for path in MODELS.glob("*.onnx"))
QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")
LARGEST_DEVIATION = {"xs_ppocr_cls": 0.2}
"""Of the outputs' largest magnitude. This net of two classes turns flips of one code into a tenth;
0.05 for the others, whose float weights and biases are rounded."""


def load(name: str) -> ModelProto:
    return onnx.load(MODELS / f"{name}.onnx")


def cases(name: str, model: ModelProto) -> list[dict[str, NDArray[Any]]]:
    net = "ppocr_cls" if "ppocr_cls" in name else name.split(".")[0]
    arrays = np.load(MODELS / f"{net}.npz")
    inputs = [value.name for value in session(model).get_inputs()]
    return [{each: arrays[f"{case}|{each}"] for each in inputs} for case in range(3)]


def corpus() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(CORPUS.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module", params=NAMES)
def rewritten(request: pytest.FixtureRequest) -> tuple[str, ModelProto, ModelProto]:
    model = load(request.param)
    return request.param, model, apply(model)


def test_valid(rewritten: tuple[str, ModelProto, ModelProto]) -> None:
    assert_valid(rewritten[2])


def test_outputs_and_fused_ops(rewritten: tuple[str, ModelProto, ModelProto]) -> None:
    name, model, result = rewritten
    for feeds in cases(name, model):
        expected, actual = run(model, feeds), run(result, feeds)
        for output, one in expected.items():
            largest = float(np.abs(one).max()) or 1.0
            deviation = float(np.abs(one.astype(np.float64) - actual[output]).max()) / largest
            assert deviation <= LARGEST_DEVIATION.get(name, 0.05), output
    assert_fused_ops_exact(result, cases(name, model)[0])


def test_no_more_quantizers_than_onnxruntime_leaves(
    rewritten: tuple[str, ModelProto, ModelProto],
) -> None:
    name, _, result = rewritten
    theirs = corpus()[name]["onnxruntime"]
    ours = operations(result)
    if theirs:  # of one model it cannot create a session
        for op in QUANTIZERS:
            assert ours[op] <= theirs[op]


def test_recorded_op_counts(rewritten: tuple[str, ModelProto, ModelProto]) -> None:
    name, _, result = rewritten
    assert dict(sorted(operations(result).items())) == corpus()[name]["ort-cpu"]


if __name__ == "__main__":
    recorded = corpus()
    for each in NAMES:
        recorded[each]["ort-cpu"] = dict(sorted(operations(apply(load(each))).items()))
    CORPUS.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
