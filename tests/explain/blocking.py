"""Explaining small graphs in tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import onnx
from onnx import ModelProto, helper

from qrewrite.explaining import Explanation, explain_model
from qrewrite.patterns.explain.blocked import Blocked
from qrewrite.patterns.explain.cause import Cause
from qrewrite.rewriting import Program, Recipe


@cache
def program(pack: str, options: tuple[tuple[str, Any], ...] = ()) -> Program:
    return Recipe((pack,), options=dict(options)).prepare()


def explain(model: ModelProto, pack: str = "ort-cpu", **options: Any) -> Explanation:
    return explain_model(program(pack, tuple(sorted(options.items()))), model).whole()


def group_of(explanation: Explanation, op: str) -> Blocked:
    """The one group of an op."""
    found = [group for group in explanation.blocked if group.op == op]
    assert len(found) == 1, explanation
    return found[0]


def innermost(cause: Cause) -> Cause:
    """The rule behind the last `then`."""
    while cause.behind is not None:
        cause = cause.behind
    return cause


def without_types(model: ModelProto) -> ModelProto:
    """Shapes and types of nothing but what is stated for the graph's inputs."""
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    return copy


def expose(model: ModelProto, name: str, kind: int = onnx.TensorProto.FLOAT) -> ModelProto:
    """Make an inner value a graph output, too."""
    model.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    return onnx.shape_inference.infer_shapes(model)
