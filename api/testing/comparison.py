"""One rewrite judged: valid, loadable, and as close to the original as the rule claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, numpy_helper

from qrewrite.patterns.syntax import Claim, Exact, Lossy

from .claims import NONE, Distance, Tolerance, distance, excess, tolerance
from .lossy import LossyMismatch, rounded_like
from .reference import INTEGER_ACCUMULATING, Evaluator, Values
from .sessions import Array, Arrays, CannotRun
from .wide import OPS as FLOAT_ACCUMULATING

ROUNDING = 1e-5
"""Relative: what float32 sums may differ by, where a kernel is compared with exact arithmetic."""


class InvalidCase(Exception):
    """The original model is no valid test: it cannot be checked, loaded or run."""


@dataclass(frozen=True)
class Judgement:
    """What came of a comparison."""

    problem: str = ""
    """"" if all is well."""
    found: Distance = NONE
    """The largest difference, and the elements that differ, of the exact results."""
    kernels: Distance = NONE
    """The same, of what onnxruntime's kernels computed."""
    inputs: Arrays | None = None
    """Those on which the problem shows."""


FINE = Judgement()


class Original:
    """A model before the rewrite, evaluated once for each of its inputs.

    Raises InvalidCase.
    """

    def __init__(self, model: ModelProto, feeds: Sequence[Arrays]) -> None:
        self.model = model
        try:
            onnx.checker.check_model(model, full_check=True)
            self._evaluator = Evaluator(model, feeds[0] if feeds else None)
            self.values = [(feed, self._evaluator.run(feed)) for feed in feeds]
        except (
            CannotRun,
            onnx.checker.ValidationError,
            onnx.shape_inference.InferenceError,
        ) as problem:
            raise InvalidCase(str(problem)) from None

    @property
    def feeds(self) -> list[Arrays]:
        return [feed for feed, _ in self.values]


def judge(
    original: Original, after: ModelProto, claim: Claim | None, roots: Iterable[str] = (),
    count_kernels: bool = True, fired: int = 1,
) -> Judgement:  # fmt: skip
    """Compare a rewritten model with the original.

    `roots` are the values the rule must keep; what follows from them is compared where they are
    equal.  Without roots all graph outputs are compared.  `count_kernels`: what the kernels of this
    machine compute must keep the claim as well.  Where a rule that is not exact has `fired` more
    than once, only the validity of the result is judged: differences add up.
    """
    problem = _invalid(original.model, after)
    if problem:
        return Judgement(problem)
    known = original.feeds[0] if original.feeds else None
    try:
        evaluator = Evaluator(after, known)
    except CannotRun as error:
        return Judgement(f"onnxruntime refuses the result: {error}", inputs=known)
    values = original.values
    if fired > 1 and not isinstance(claim, Exact):
        return Judgement()
    if isinstance(claim, Lossy):
        try:
            rounded = rounded_like(original.model, after, claim.quanta)
            values = Original(rounded, original.feeds).values
        except (LossyMismatch, InvalidCase) as mismatch:
            return Judgement(str(mismatch), inputs=known)
    return _compare(values, evaluator, claim, tuple(roots), count_kernels)


def _compare(
    values: Sequence[tuple[Arrays, Values]], evaluator: Evaluator, claim: Claim | None,
    roots: tuple[str, ...], count_kernels: bool,
) -> Judgement:  # fmt: skip
    allowed = tolerance(claim)
    loose = _for_kernels(allowed, evaluator.model, isinstance(claim, Lossy))
    total, measured = Distance(), Distance()
    kept = {each for root in roots for each in (root, f"{root}_if")}
    for feed, expected in values:
        try:
            actual = evaluator.run(feed)
        except CannotRun as error:
            return Judgement(f"onnxruntime cannot run the result: {error}", total, measured, feed)
        moved = False
        for name in compared(expected, actual, roots):
            wanted = expected.exact[name]
            if name not in expected.outputs:
                wanted = recoded(wanted, actual.exact[name])
            found = distance(wanted, actual.exact[name])
            kernel = distance(wanted, actual.measured[name])
            total, measured = total + found, measured + kernel
            problem = excess(found, allowed)
            moved = moved or kernel.moved > 0
            if not problem and count_kernels and (name in kept or not moved):
                problem = excess(kernel, loose)
                problem = f"{problem}, as onnxruntime's kernels compute it" if problem else ""
            if problem:
                return Judgement(f"{name}: {problem}", total, measured, feed)
    return Judgement("", total, measured)


def _for_kernels(allowed: Tolerance, model: ModelProto, lossy: bool) -> Tolerance:
    """The float sums of a Conv or MatMul that is left round, and cancel: not the rule's doing.

    Where an integer kernel is there too, or a tensor is rounded, float results may differ a little.
    """
    fused = any((n.domain, n.op_type) in INTEGER_ACCUMULATING for n in model.graph.node)
    sums = any(n.domain == "" and n.op_type in FLOAT_ACCUMULATING for n in model.graph.node)
    if sums and not fused:
        return Tolerance(np.inf, 1.0, np.inf)
    if fused or not lossy:
        return allowed
    return Tolerance(max(allowed.quanta, 1), 1.0, max(allowed.relative, ROUNDING))


def recoded(expected: Array, actual: Array) -> Array:
    """int8 codes as uint8, where a rule has re-coded a whole tensor inside the graph."""
    if expected.dtype == np.int8 and actual.dtype == np.uint8:
        return (expected.astype(np.int16) + 128).astype(np.uint8)
    return expected


def compared(expected: Values, actual: Values, roots: tuple[str, ...]) -> list[str]:
    """The names to compare: the roots; all graph outputs where they are equal or there are none."""
    found = [each for root in roots for each in (root, f"{root}_if") if each in expected.exact]
    found = [name for name in dict.fromkeys(found) if name in actual.exact]
    pairs = [(expected.exact[name], actual.exact[name]) for name in found]
    same = all(distance(recoded(one, other), other).moved == 0 for one, other in pairs)
    if same or not found:
        found += [name for name in expected.outputs if name not in found]
    return found


def _invalid(before: ModelProto, after: ModelProto) -> str:
    """What is wrong with the rewritten model as a model."""
    try:
        onnx.checker.check_model(after, full_check=True)
    except Exception as problem:  # the checker raises several classes
        return f"the result is no valid model: {str(problem).strip().splitlines()[0]}"
    for kind in ("input", "output"):
        old = [(v.name, v.type.tensor_type.elem_type) for v in getattr(before.graph, kind)]
        new = [(v.name, v.type.tensor_type.elem_type) for v in getattr(after.graph, kind)]
        if old != new:
            return f"the graph {kind}s are {new} where they were {old}"
    return ""


MUST_BE_RIGHT = ("x86",)
"""Values of the option `target` that promise exact kernels on every x86 CPU."""


def kernels_count(before: ModelProto, after: ModelProto, options: Mapping[str, object]) -> bool:
    """Whether a rule answers for what the kernels of this machine compute.

    Not where they may saturate, unless the target promises that they do not; nor where those of
    the original may, which is no reference then.
    """
    if may_saturate(before):
        return False
    return not may_saturate(after) or options.get("target") in MUST_BE_RIGHT


def may_saturate(model: ModelProto) -> bool:
    """Whether a kernel of uint8 by int8 may saturate on an x86 CPU without VNNI: |weight| > 64."""
    graphs = list(_graphs(model.graph))
    tensors = {t.name: t for graph in graphs for t in graph.initializer}
    for node in (each for graph in graphs for each in graph.node):
        if (node.domain, node.op_type) not in INTEGER_ACCUMULATING:
            continue
        slot = {"QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3}.get(node.op_type, 1)
        stored = tensors.get(node.input[slot])
        if stored is None:
            return True
        weight = numpy_helper.to_array(stored)
        if weight.dtype == np.int8 and weight.size and np.abs(weight.astype(np.int64)).max() > 64:
            return True
    return False


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and the bodies of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)
