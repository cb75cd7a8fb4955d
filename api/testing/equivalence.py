"""Assertions for test suites: two models are equivalent, a pack is idempotent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from onnx import GraphProto, ModelProto

import qrewrite

from .claims import Tolerance, distance, excess
from .compare import random_inputs
from .reference import Evaluator
from .sessions import Arrays


def assert_equivalent(
    before: ModelProto, after: ModelProto, *, quanta: float = 0, relative: float = 0.0,
    share: float = 1.0, inputs: Sequence[Arrays] | None = None,
) -> None:  # fmt: skip
    """Every output of `after` is that of `before`: bit by bit, unless more is allowed.

    `quanta`: steps that an element of an integer output may move, `share` how many may move at all;
    `relative`: parts of its largest magnitude that a float output may move.  Both models are run in
    onnxruntime without optimizations, and what accumulates is computed exactly.  `inputs`: arrays
    by name, a dict a run; three random ones where none are given.

    Raises AssertionError with the output and how far it is off.
    """
    runs = (
        list(inputs) if inputs is not None else [random_inputs(before, seed) for seed in range(3)]
    )
    known = runs[0] if runs else None
    left, right = Evaluator(before, known), Evaluator(after, known)
    assert left.outputs == right.outputs, f"outputs are {right.outputs}, they were {left.outputs}"
    allowed = Tolerance(quanta, share, relative)
    for feed in runs:
        expected, actual = left.run(feed), right.run(feed)
        for name in left.outputs:
            problem = excess(distance(expected.exact[name], actual.exact[name]), allowed)
            assert not problem, f"{name}: {problem}"


def assert_idempotent(model: ModelProto, packs: str | Sequence[str], **options: bool | str) -> None:
    """Rewriting the result once more changes nothing: the ops are the same ones."""
    once = qrewrite.rewrite(model, packs, options=options).model
    twice = qrewrite.rewrite(once, packs, options=options)
    assert not twice.applied, f"a second run still applies {dict(twice.applied)}"


def op_counts(model: ModelProto) -> Counter[str]:
    """How many nodes of each op there are, in branches too."""
    return Counter(_ops(model.graph))


def _ops(graph: GraphProto) -> Iterable[str]:
    for node in graph.node:
        yield f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _ops(attribute.g)
