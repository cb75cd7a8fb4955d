"""What a model computes inside the bodies of its If, Loop and Scan nodes.

onnxruntime shows the values of the main graph alone.  So an If is replaced by the branch that the
inputs take, and the first iteration of a Loop or Scan is made a model of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, numpy_helper

from .branches import inline_branches
from .sessions import Array, Arrays, CannotRun, Session, traced

_DEEPEST = 8
"""Branches inside branches that are followed."""
_SCAN_WITHOUT_BATCHES = 9
"""The opset from which Scan has the inputs that are read here."""


@dataclass(frozen=True)
class Opened:
    """A graph without branches, and what it computes."""

    owner: str
    """The Loop or Scan of which it is the first iteration; "" for the main graph."""
    model: ModelProto
    feeds: Arrays
    values: Arrays
    """Every value that a node of it makes."""


class Opener:
    """A model loaded once and opened for many inputs.  Raises CannotRun."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self._session = Session(traced(model))

    def run(self, feeds: Arrays) -> list[Opened]:
        """The main graph first, then the bodies in the order of their nodes."""
        return list(_opened(self.model, feeds, self._session.run(feeds), ""))


def _opened(model: ModelProto, feeds: Arrays, values: Arrays, owner: str) -> Iterator[Opened]:
    model, values = _followed(model, feeds, values)
    yield Opened(owner, model, feeds, values)
    known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    known |= {**feeds, **values}
    opset = next((e.version for e in model.opset_import if e.domain in ("", "ai.onnx")), 0)
    for node in model.graph.node:
        given = _arguments(node, known, opset)
        found = None if given is None else _iteration(node, given, model, known)
        if found is not None:
            body, inner = found
            try:
                computed = Session(traced(body)).run(inner)
            except CannotRun:
                continue  # a body that is no model by itself is not looked into
            yield from _opened(body, inner, computed, node.name or node.output[0])


def _followed(model: ModelProto, feeds: Arrays, values: Arrays) -> tuple[ModelProto, Arrays]:
    """The model with the branches taken in place of its Ifs, and its values."""
    for _ in range(_DEEPEST):
        branches = _count_ifs(model)
        inlined = inline_branches(model, {**feeds, **values}) if branches else model
        if inlined is model:
            break
        try:
            values = Session(traced(inlined)).run(feeds)
        except CannotRun:
            break  # a branch that gives what it captured cannot be spliced in
        model = inlined
    return model, values


def _count_ifs(model: ModelProto) -> int:
    return sum(node.op_type == "If" for node in model.graph.node)


def _arguments(node: NodeProto, known: Arrays, opset: int) -> list[Array] | None:
    """What the body of a Loop or Scan is given at first; None if it is not known."""
    names = list(node.input)
    if node.op_type == "Loop":
        if any(name not in known for name in names[2:]):
            return None
        return [np.array(0, np.int64), np.array(True), *(known[name] for name in names[2:])]
    if node.op_type != "Scan" or opset < _SCAN_WITHOUT_BATCHES:
        return None
    if any(name not in known for name in names):
        return None
    stated: dict[str, list[int]] = {
        a.name: list(a.ints) for a in node.attribute if a.type == AttributeProto.INTS
    }
    count = next(int(a.i) for a in node.attribute if a.name == "num_scan_inputs")
    scanned = names[len(names) - count :]
    axes = stated.get("scan_input_axes", [0] * count)
    reverse = stated.get("scan_input_directions", [0] * count)
    states = [known[name] for name in names[: len(names) - count]]
    slices = [
        np.take(known[name], -1 if backward else 0, axis)
        for name, axis, backward in zip(scanned, axes, reverse, strict=True)
        if known[name].shape[axis]
    ]
    return [*states, *slices] if len(slices) == count else None


def _iteration(
    node: NodeProto, given: Sequence[Array], model: ModelProto, known: Arrays
) -> tuple[ModelProto, dict[str, Array]] | None:
    """A body as a model, with its inputs; None if it captures what is not known."""
    body = next(each.g for each in node.attribute if each.name == "body")
    stored = {t.name: t for t in model.graph.initializer}
    captured = captures(body)
    if any(name not in known for name in captured) or len(given) != len(body.input):
        return None
    feeds = dict(zip((value.name for value in body.input), given, strict=True))
    feeds |= {name: known[name] for name in captured if name not in stored}
    result = ModelProto()
    result.CopyFrom(body_less(model))
    graph = result.graph
    graph.CopyFrom(body)
    del graph.input[:], graph.output[:]
    graph.input.extend(typed(name, array) for name, array in feeds.items())
    graph.initializer.extend(stored[name] for name in captured if name in stored)
    made = {name for inner in body.node for name in inner.output}
    graph.output.extend(value for value in body.output if value.name in made)
    return result, feeds


def body_less(model: ModelProto) -> ModelProto:
    """What a model states beside its graph: versions, opsets, functions."""
    result = ModelProto(ir_version=model.ir_version)
    result.opset_import.extend(model.opset_import)
    result.functions.extend(model.functions)
    return result


def captures(graph: GraphProto) -> list[str]:
    """The values that a body reads and does not make, those of bodies inside it included."""
    made = {value.name for value in graph.input} | {t.name for t in graph.initializer}
    found: dict[str, None] = {}
    for node in graph.node:
        found.update(dict.fromkeys(name for name in reads(node) if name not in made))
        made.update(node.output)
    return list(found)


def reads(node: NodeProto) -> list[str]:
    """The values that a node uses, by its operands or inside its bodies."""
    inner = [name for a in node.attribute if a.HasField("g") for name in captures(a.g)]
    return [name for name in node.input if name] + inner


def typed(name: str, array: Array) -> ValueInfoProto:
    number = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, number, array.shape)


def by_owner(graphs: Sequence[Opened]) -> Mapping[str, Opened]:
    return {each.owner: each for each in graphs}
