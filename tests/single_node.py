"""One node as a model, run by onnxruntime without optimizations or by onnx's reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import helper
from onnx.reference import ReferenceEvaluator

Array = NDArray[Any]
MS = "com.microsoft"


def session(model: onnx.ModelProto | str) -> ort.InferenceSession:
    """A session on one thread with all optimizations disabled; `model` may be a path."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    source = model if isinstance(model, str) else model.SerializeToString()
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def make_node(op: str, inputs: Sequence[Array | None], **attributes: Any) -> onnx.NodeProto:
    """A node whose inputs are named i0, i1, ...; a domain is written `com.microsoft::Op`."""
    domain, _, name = op.rpartition("::")
    names = ["" if array is None else f"i{i}" for i, array in enumerate(inputs)]
    return helper.make_node(name, names, ["y"], name="node", domain=domain, **attributes)


def make_model(
    node: onnx.NodeProto, inputs: Sequence[Array | None], output: Any, opset: int = 21
) -> onnx.ModelProto:
    """Tensors of rank 0 and 1 become initializers (scales, zero points), the rest graph inputs."""
    arrays = {f"i{i}": array for i, array in enumerate(inputs) if array is not None}
    constants = [onnx.numpy_helper.from_array(a, n) for n, a in arrays.items() if a.ndim < 2]
    result = helper.np_dtype_to_tensor_dtype(np.dtype(output))
    graph = helper.make_graph(
        [node],
        "graph",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in arrays.items()
            if a.ndim >= 2
        ],
        [helper.make_tensor_value_info("y", result, None)],
        constants,
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def run(model: onnx.ModelProto, inputs: Sequence[Array | None]) -> Array:
    """The output as onnxruntime computes it."""
    feeds = {f"i{i}": a for i, a in enumerate(inputs) if a is not None and a.ndim >= 2}
    return np.asarray(session(model).run(None, feeds)[0])


def reference(model: onnx.ModelProto, inputs: Sequence[Array | None]) -> Array:
    """The output as onnx's own reference computes it (ops of ai.onnx)."""
    feeds = {f"i{i}": a for i, a in enumerate(inputs) if a is not None and a.ndim >= 2}
    return np.asarray(ReferenceEvaluator(model).run(None, feeds)[0])
