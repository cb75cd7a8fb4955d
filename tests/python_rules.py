"""Rules written as Python functions, to test the engine without the language."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

import numpy as np
import onnx
import onnxruntime as ort

from qrewrite.engine.graph import Model, Node, Value, consumers
from qrewrite.engine.io.build import build
from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.protocols import Context, Fire, Matcher, Replacement

Match = Callable[[Node], tuple[object, ...] | None]
Rewrite = Callable[..., Replacement | None]
Done = TypeVar("Done")


@dataclass(frozen=True)
class PythonRule:
    """`match(node)` gives the bindings or None; `build(graph, *bindings)` the replacement."""

    name: str
    anchors: tuple[str, ...]
    match: Match
    build: Rewrite
    then: tuple[str, ...] = ()
    expands: bool = False
    pack: str = "test"

    def matcher(self) -> Matcher:
        def match(node: Node, fire: Fire) -> bool:
            bindings = self.match(node)
            return bindings is not None and fire(self, bindings)

        return match

    def rewrite(self, bindings: tuple[object, ...], context: Context) -> Replacement | None:
        return self.build(context.graph, *bindings)


@dataclass(frozen=True)
class PythonPhase:
    name: str
    rules: Sequence[PythonRule]

    def matcher(self, op: str) -> Matcher | None:
        matchers = [rule.matcher() for rule in self.rules if op in rule.anchors]
        if not matchers:
            return None
        return lambda node, fire: any(matcher(node, fire) for matcher in matchers)


def phase(*rules: PythonRule) -> list[PythonPhase]:
    """One phase of these rules."""
    return [PythonPhase("phase", rules)]


# ---- reading graphs ----------------------------------------------------------------------------


def producer(value: Value | None, op: str) -> Node | None:
    """The producer of a value, if it is of this op."""
    found = value.producer if value is not None else None
    return found if found is not None and found.op == op else None


def only_user(value: Value | None) -> Node | None:
    """The one consumer of a value that is no graph output."""
    if value is None or value.is_output or len(value.uses) != 1:
        return None
    return consumers(value)[0]


# ---- models ------------------------------------------------------------------------------------


def parse(text: str, ir_version: int = 8, opset: int = 17, extra: str = "") -> onnx.ModelProto:
    """A model of one graph in ONNX's text form."""
    header = f'<ir_version: {ir_version}, opset_import: ["" : {opset}, "com.microsoft" : 1{extra}]>'
    return onnx.parser.parse_model(header + text)


def view(text: str, **options: int) -> Model:
    """The view of a model in text form."""
    return build(parse(text, **options))


def node_of(model: Model, value: str) -> Node:
    """The node of the main graph that makes a value."""
    found = model.graph.values[value].producer
    assert found is not None
    return found


def lines(model: Model) -> list[str]:
    """The nodes of the main graph, as `y = Op(x, w)`, in order."""
    return [
        ", ".join(value.name if value else "" for value in node.outputs)
        + f" = {node.op}("
        + ", ".join(value.name if value else "" for value in node.inputs)
        + ")"
        for node in model.graph.nodes
    ]


def written(model: Model) -> onnx.ModelProto:
    """The model as it would be written; checked by onnx and by loading it in onnxruntime."""
    proto = to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    session(proto)
    return proto


def session(proto: onnx.ModelProto) -> ort.InferenceSession:
    """A session that runs the graph as it stands."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def outputs(proto: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime computes without any optimization."""
    found: list[np.ndarray] = session(proto).run(None, feed)
    return found


# ---- work --------------------------------------------------------------------------------------


def calls_made(work: Callable[[], Done]) -> tuple[int, Done]:
    """How many functions, Python's and C's, it calls: its cost, on any machine the same."""
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        done = work()
    finally:
        sys.setprofile(None)
    return made, done
