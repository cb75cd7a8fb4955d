"""The pack `onnx` in onnxruntime-web: another build of the kernels, which does not saturate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from .checks import apply, assert_close, operations, run
from .graphs import Grid, Product, feeds, unary

PACKAGE = "onnxruntime-web@1.30.0"
FULL_RANGE = Product(peak=127)
MATMUL = Product("MatMul", x_shape=(2, 3, 8), w_shape=(8, 5), w=Grid("u8", 0.01, 120))
G = Grid(scale=0.05, zero_point=7)
I8 = Grid("i8", 0.02, 3)
MODELS = {
    "conv": (FULL_RANGE.model(), "QLinearConv"),
    "conv_int32_bias": (replace(FULL_RANGE, bias="i32").model(), "QLinearConv"),
    "conv_float_bias": (replace(FULL_RANGE, bias="f32").model(), "QLinearConv"),
    "conv_float_weight": (replace(FULL_RANGE, weight="f32").model(), "QLinearConv"),
    "conv_int8": (replace(FULL_RANGE, x=I8, y=Grid("i8", 0.1, 3)).model(), "QLinearConv"),
    "matmul": (MATMUL.model(), "QLinearMatMul"),
    "matmul_int8": (replace(MATMUL, w=Grid("i8", 0.01, 0), peak=127).model(), "QLinearMatMul"),
    "transpose": (unary("Transpose", G, G, perm=[0, 2, 3, 1]), "Transpose"),
    "maxpool": (unary("MaxPool", G, G, kernel_shape=[2, 2]), "MaxPool"),
    "relu": (unary("Relu", G, G), "Max"),
    "clip": (unary("Clip", G, G, extra=[(-0.2, "f32"), (3.0, "f32")]), "Clip"),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what onnxruntime-web in Node made of each rewritten model."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("web")
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
    installed = subprocess.run(install, capture_output=True, text=True, check=False)
    if installed.returncode != 0:
        pytest.skip(f"npm does not install {PACKAGE}: {installed.stderr[-200:]}")
    for name, (model, _) in MODELS.items():
        onnx.save(apply(model, "onnx"), folder / f"{name}.onnx")
        (folder / f"{name}.json").write_text(json.dumps(_to_json(feeds(model))))
    script = Path(__file__).with_name("run_web.js")
    environment = os.environ | {"NODE_PATH": str(folder / "node_modules")}
    ran = subprocess.run(
        ["node", str(script), str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return folder


def _to_json(arrays: dict[str, NDArray[Any]]) -> dict[str, object]:
    return {
        name: {"type": array.dtype.name, "dims": array.shape, "data": array.ravel().tolist()}
        for name, array in arrays.items()
    }


def _from_json(path: Path) -> dict[str, NDArray[Any]]:
    return {
        name: np.asarray(entry["data"], entry["type"]).reshape(entry["dims"])
        for name, entry in json.loads(path.read_text()).items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_it_computes_what_the_unfused_model_does(web: Path, name: str) -> None:
    model, op = MODELS[name]
    result = apply(model, "onnx")
    assert operations(result)[op] == 1
    assert operations(result)["DequantizeLinear"] == operations(result)["QuantizeLinear"] == 0
    reference = model if name != "conv_float_weight" else dequantized(result)
    failure = web / f"{name}.error.txt"
    assert not failure.exists(), failure.read_text()
    assert_close(run(reference, feeds(model)), _from_json(web / f"{name}.out.json"), 1)


def dequantized(model: onnx.ModelProto) -> onnx.ModelProto:
    """The QLinearConv of a model as its ONNX definition: dequantize, convolve, quantize."""
    (conv,) = model.graph.node
    names = list(conv.input)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    make = onnx.helper.make_node
    del copy.graph.node[:]
    copy.graph.node.extend(
        [
            make("DequantizeLinear", names[0:3], ["x_float"]),
            make("DequantizeLinear", names[3:6], ["w_float"], axis=0),
            make("Conv", ["x_float", "w_float"], ["y_float"]),
            make("QuantizeLinear", ["y_float", *names[6:8]], list(conv.output)),
        ]
    )
    return copy
