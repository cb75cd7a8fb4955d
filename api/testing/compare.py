"""Two whole models compared: how far apart their outputs are, and each fused node on its own.

Differences within the claims of single rules add up on their way through a net, so the outputs of a
whole net say how much they matter, not whether they are right.  That is judged node by node, in
bodies of If, Loop and Scan as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from onnx import ModelProto, numpy_helper

from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import Claim

from .bodies import Opened, Opener, by_owner
from .claims import Tolerance
from .comparison import recoded
from .node_by_node import CLAIMED, Allowance, judge_nodes
from .reference import DEQUANTIZERS
from .sessions import Array, Arrays


@dataclass(frozen=True)
class OutputDifference:
    """One output over all cases."""

    name: str
    largest: float
    """In quanta: of the integer tensor itself, or of the grid that a float output was dequantized
    from; of other floats in parts of their largest magnitude."""
    mean: float
    cosine: float
    unit: str
    """``quanta`` or ``relative``."""


@dataclass(frozen=True)
class Comparison:
    """The result of `compare_models`."""

    outputs: tuple[OutputDifference, ...]
    nodes: int
    """Nodes of the rewritten model that were judged on their own."""
    beyond: tuple[str, ...]
    """Those that are further off than allowed, in words."""

    @property
    def passed(self) -> bool:
        return not self.beyond


def compare_models(
    before: ModelProto, after: ModelProto, inputs: Sequence[Arrays] | None = None, *,
    allowed: Tolerance = CLAIMED, claims: Mapping[str, Claim | None] = MappingProxyType({}),
    made: Mapping[str, str] = MappingProxyType({}), rounded: ModelProto | None = None,
    seed: int = 0,
) -> Comparison:  # fmt: skip
    """Compare two models on the same inputs, random ones where none are given.

    `allowed`: how far a node may be off; `claims`: what rules (``pack/rule``) claim instead, where
    it is known which made a node.  `made`: the rules that made each node of `after`, separated by
    spaces; where it is silent the model says it, from IR version 10 on.  `rounded`: `before` with
    what lossy rules rounded; nodes that these had a part in are held against it, too.
    Raises CannotRun if onnxruntime cannot load or run one of them.
    """
    cases = (
        list(inputs) if inputs is not None else [random_inputs(before, seed + i) for i in range(2)]
    )
    allowance = Allowance(allowed, claims, made)
    left, right = Opener(before), Opener(after)
    middle = None if rounded is None else Opener(rounded)
    outputs = [value.name for value in before.graph.output]
    rows: dict[str, list[tuple[Array, Array]]] = {name: [] for name in outputs}
    beyond: dict[str, str] = {}
    judged: set[str] = set()
    for case in cases:
        expected, actual = left.run(case), right.run(case)
        for name in outputs:
            rows[name].append((expected[0].values[name], actual[0].values[name]))
        found = [*judge_graphs(expected, actual, allowance)]
        if middle is not None:
            found += judge_graphs(middle.run(case), actual, replace(allowance, rounded=True))
        for node, problem in found:
            judged.add(node)
            if problem:
                beyond.setdefault(node, f"{node}: {problem}")
    scales = _scales(before)
    differences = tuple(_difference(name, rows[name], scales.get(name)) for name in outputs)
    return Comparison(differences, len(judged), tuple(beyond.values()))


def judge_graphs(
    before: Sequence[Opened], after: Sequence[Opened], allowance: Allowance
) -> Iterator[tuple[str, str]]:
    """Name and problem ("": none) of each new node that can be judged, of all graphs."""
    others = by_owner(after)
    for one in before:
        other = others.get(one.owner)
        if other is not None:
            known = {**one.feeds, **_recoded(one.values, other.values)}
            yield from judge_nodes(one.model, other.model, known, allowance)


def claims_of(pack: Pack) -> dict[str, Claim | None]:
    """What each rule of a pack claims, by ``pack/rule``."""
    return {rule.full_name: rule.rule.claim for rule in pack.rules}


def random_inputs(model: ModelProto, seed: int) -> dict[str, Array]:
    """Random arrays for the graph inputs; a dimension without a size is 1."""
    from onnx import helper

    rng = np.random.default_rng(seed)
    known = {tensor.name for tensor in model.graph.initializer}
    result: dict[str, Array] = {}
    for value in model.graph.input:
        if value.name in known:
            continue
        tensor = value.type.tensor_type
        shape = [
            dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else 1
            for dim in tensor.shape.dim
        ]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind in "iu":
            low, high = (
                (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.itemsize == 1 else (0, 2)
            )
            result[value.name] = rng.integers(low, high, shape, endpoint=True).astype(dtype)
        elif dtype.kind == "b":
            result[value.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            result[value.name] = rng.normal(0, 1, shape).astype(dtype)
    return result


def cases_of(arrays: Arrays) -> dict[str, dict[str, Array]]:
    """The cases in an npz file: its keys are ``input`` or ``case|input``."""
    cases: dict[str, dict[str, Array]] = {}
    for key, array in arrays.items():
        case, _, name = key.rpartition("|")
        cases.setdefault(case, {})[name] = array
    return cases


def _recoded(expected: Arrays, actual: Arrays) -> dict[str, Array]:
    """What the original computes, with int8 codes as uint8 where the other has them so."""
    return {name: recoded(array, actual.get(name, array)) for name, array in expected.items()}


# ---- outputs ----------------------------------------------------------------------------------


def _scales(model: ModelProto) -> dict[str, float]:
    """Quanta of float outputs that a DequantizeLinear with one scale makes."""
    tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if (node.domain, node.op_type) in DEQUANTIZERS:
            scale = tensors.get(node.input[1])
            if scale is not None and scale.size == 1:
                found[node.output[0]] = float(scale.reshape(-1)[0])
    return found


def _difference(
    name: str, pairs: Sequence[tuple[Array, Array]], scale: float | None
) -> OutputDifference:
    left = np.concatenate([np.ravel(a).astype(np.float64) for a, _ in pairs])
    right = np.concatenate([np.ravel(b).astype(np.float64) for _, b in pairs])
    gaps = np.abs(left - right)
    largest, mean = float(gaps.max(initial=0)), float(gaps.mean()) if gaps.size else 0.0
    integer = pairs[0][0].dtype.kind in "iub"
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    cosine = float(left @ right / norms) if norms else 1.0
    if integer or scale:
        unit = 1.0 if integer else abs(scale or 1.0)
        return OutputDifference(name, largest / unit, mean / unit, cosine, "quanta")
    size = float(np.abs(left).max(initial=0)) or 1.0
    return OutputDifference(name, largest / size, mean / size, cosine, "relative")
