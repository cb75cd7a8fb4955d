"""What must hold of a rewritten model, checked with onnx, onnxruntime and exact arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, numpy_helper

from qrewrite.rewriting import Program, Recipe, rewrite_by
from qrewrite.testing import exact

from .graphs import feeds as random_feeds

Arrays = Mapping[str, NDArray[Any]]
ACCUMULATING = {"QLinearConv", "QLinearMatMul", "QGemm", "MatMulIntegerToFloat"}


@cache
def program(pack: str, options: tuple[tuple[str, Any], ...]) -> Program:
    """A pack with options, compiled once for all tests."""
    return Recipe((pack,), options=dict(options)).prepare()


def apply(model: ModelProto, pack: str = "ort-cpu", **options: Any) -> ModelProto:
    """The rewritten model; the original is left alone, and a second run must change nothing."""
    original = model.SerializeToString(deterministic=True)
    compiled = program(pack, tuple(sorted(options.items())))
    result = rewrite_by(compiled, model).model
    assert model.SerializeToString(deterministic=True) == original, "the input model was changed"
    again = rewrite_by(compiled, result).model
    assert operations(again) == operations(result), "not idempotent"
    return result


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph and of its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                yield from nodes_of(body)


def operations(model: ModelProto) -> Counter[str]:
    """Op counts; ops of com.microsoft with their domain before them."""
    return Counter(
        node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"
        for node in nodes_of(model.graph)
    )


def session(model: ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(model: ModelProto, feeds: Arrays) -> dict[str, NDArray[Any]]:
    """The graph outputs by onnxruntime without any optimization."""
    created = session(model)
    names = [value.name for value in created.get_outputs()]
    return dict(zip(names, created.run(names, dict(feeds)), strict=True))


def assert_valid(model: ModelProto) -> None:
    onnx.checker.check_model(model, full_check=True)
    names = [node.name for node in nodes_of(model.graph) if node.name]
    assert len(names) == len(set(names)), "two nodes share a name"


def assert_close(
    expected: Arrays, actual: Arrays, quanta: float = 0, relative: float = 1e-5
) -> None:
    """Integers within `quanta` codes, floats within `relative` of the largest magnitude."""
    assert list(expected) == list(actual)
    for name, one in expected.items():
        other = actual[name]
        assert one.dtype == other.dtype and one.shape == other.shape, name
        if one.dtype.kind in "iub":
            largest, share = exact.quanta(one, other)
            assert largest <= quanta, f"{name}: {largest} quanta, {share:.1%} of elements"
        else:
            limit = relative * max(float(np.abs(one).max(initial=0)), 1e-30)
            np.testing.assert_allclose(one, other, rtol=0, atol=limit, err_msg=name)


def assert_fused_ops_exact(model: ModelProto, feeds: Arrays) -> None:
    """Each fused accumulating node gives what exact arithmetic on its own inputs gives."""
    traced = ModelProto()
    traced.CopyFrom(model)
    known = {value.name for value in traced.graph.output}
    traced.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(name)
        for node in traced.graph.node
        for name in node.output
        if name and name not in known
    )
    values = dict(run(traced, feeds)) | dict(feeds)
    values |= {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type in ACCUMULATING:
            inputs = [values[name] if name else None for name in node.input]
            expected = {node.output[0]: exact.evaluate(node, inputs)}
            assert_close(expected, {node.output[0]: values[node.output[0]]}, quanta=1)


def assert_rewritten(
    model: ModelProto,
    counts: Mapping[str, int],
    quanta: float = 0,
    *,
    pack: str = "ort-cpu",
    feeds: Iterable[Arrays] | None = None,
    sizes: dict[str, int] | None = None,
    **options: Any,
) -> ModelProto:
    """Apply the pack: op counts as stated (0: none), valid, the same numbers within `quanta`."""
    result = apply(model, pack, **options)
    found = operations(result)
    assert {op: found[op] for op in counts} == dict(counts), dict(found)
    assert_valid(result)
    if feeds is None:
        feeds = [random_feeds(model, seed, sizes) for seed in range(2)]
    for each in feeds:
        assert_close(run(model, each), run(result, each), quanta)
        assert_fused_ops_exact(result, each)
    return result
