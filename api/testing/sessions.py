"""onnxruntime as the reference runs it: every optimization off, one thread, the CPU provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto

Array = NDArray[Any]
NARROW = frozenset({21, 22, 25, 26})
"""ONNX numbers of u4, i4, u2 and i2."""
Arrays = Mapping[str, Array]


class CannotRun(Exception):
    """onnxruntime cannot load the model, or fails when it runs it."""


class Session:
    """A model loaded by onnxruntime; `run` gives all outputs by name.

    Raises CannotRun, with onnxruntime's reason, if it cannot be loaded.
    """

    def __init__(self, model: ModelProto | str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        source = model if isinstance(model, str) else model.SerializeToString()
        try:
            self._session = onnxruntime.InferenceSession(
                source, options, providers=["CPUExecutionProvider"]
            )
        except Exception as problem:  # onnxruntime raises many classes without a common base
            raise CannotRun(first_line(problem)) from None
        self.names = [value.name for value in self._session.get_outputs()]

    def run(self, feeds: Arrays) -> dict[str, Array]:
        """The outputs; raises CannotRun if a kernel fails."""
        try:
            found = self._session.run(self.names, dict(feeds))
        except Exception as problem:  # as above
            raise CannotRun(first_line(problem)) from None
        return dict(zip(self.names, found, strict=True))


def first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return f"{type(problem).__name__}: {lines[0] if lines else ''}"


def traced(model: ModelProto) -> ModelProto:
    """The model with every value of its main graph among the outputs, but for codes of 4 bits and
    less, of which onnxruntime's Python side has no arrays."""
    result = ModelProto()
    result.CopyFrom(model)
    hidden = {value.name for value in model.graph.output} | _narrow(model)
    result.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(name)
        for node in model.graph.node
        for name in node.output
        if name and name not in hidden
    )
    return result


def _narrow(model: ModelProto) -> set[str]:
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    narrow = {name for name, number in types.items() if number in NARROW}
    if not narrow:
        return narrow
    inferred = onnx.shape_inference.infer_shapes(model)
    return narrow | {
        value.name
        for value in inferred.graph.value_info
        if value.type.tensor_type.elem_type in NARROW
    }


def run_node(
    node: onnx.NodeProto, inputs: Sequence[Array | None], opsets: Sequence[onnx.OperatorSetIdProto]
) -> list[Array]:
    """The outputs of one node alone."""
    names = [name for name in dict.fromkeys(node.input) if name]
    given = {
        name: array for name, array in zip(node.input, inputs, strict=True) if array is not None
    }
    graph = onnx.helper.make_graph(
        [node],
        "node",
        [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(given[name].dtype), given[name].shape
            )
            for name in names
        ],
        [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name],
    )
    model = onnx.helper.make_model(graph, opset_imports=list(opsets), ir_version=10)
    return [np.asarray(value) for value in Session(model).run(given).values()]
