"""The nodes of a rewritten model judged one by one.

A rewrite keeps the names of values.  So each new node whose operands the original computes as well
is run on just those, and must give what the original has there.  What the original does not
compute, a value between two nodes of one template say, is computed from what it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from qrewrite.engine.io.emit import PROVENANCE
from qrewrite.patterns.syntax import Claim, Lossy

from . import exact
from .claims import Tolerance, distance, excess, tolerance
from .reference import INTEGER_ACCUMULATING
from .sessions import Array, CannotRun, run_node

CLAIMED = Tolerance(1, 1.0, 1e-4)
"""What the rules that ship claim at most of one node."""
ROUNDED = 0.1
"""What a lossy rule may change about one node: the error's root mean square, in parts of the
standard deviation.  Weights of 8 bits come to about 0.01, a mistake to 1."""
FEW_QUANTA = 2
"""Differences up to here are never beyond that: few codes may be all there is."""


@dataclass(frozen=True)
class Allowance:
    """How far a node may be off."""

    each: Tolerance = CLAIMED
    """Where it is not known which rules made a node."""
    claims: Mapping[str, Claim | None] = field(default_factory=dict)
    """Of rules, by ``pack/rule``."""
    made: Mapping[str, str] = field(default_factory=dict)
    """Node -> the rules that made it, separated by spaces, as far as known.  Of others the model
    says it, from IR version 10 on; below, nodes that sum are not judged if a rule is lossy."""
    rounded: bool = False
    """The lossy rules have fired in the original; else nodes they had a part in are judged by
    `ROUNDED`."""

    def of(self, node: NodeProto) -> Tolerance | None:
        """What the rules that made a node claim, one after the other; None: one was lossy."""
        made = self.made.get(node.name) or _provenance(node)
        if made is None:
            lossy = any(map(self._excused, self.claims.values()))
            sums = (node.domain, node.op_type) in INTEGER_ACCUMULATING
            return None if lossy and sums else self.each
        claims = [self.claims.get(rule) for rule in made.split()]
        if any(map(self._excused, claims)):
            return None
        if any(claim is None for claim in claims):
            return self.each
        return replace(self.each, quanta=sum(tolerance(claim).quanta for claim in claims))

    def _excused(self, claim: Claim | None) -> bool:
        return isinstance(claim, Lossy) and not self.rounded


def _provenance(node: NodeProto) -> str | None:
    return next((each.value for each in node.metadata_props if each.key == PROVENANCE), None)


def judge_nodes(
    before: ModelProto, after: ModelProto, known: Mapping[str, Array], allowance: Allowance
) -> Iterator[tuple[str, str]]:
    """Name and problem ("": none) of each new node that can be judged.

    `known`: what the original computes, by name.
    """
    same = {node.SerializeToString(deterministic=True) for node in before.graph.node}
    kept = {t.name: numpy_helper.to_array(t) for t in before.graph.initializer}
    constants = {t.name: numpy_helper.to_array(t) for t in after.graph.initializer}
    values = {**kept, **known, **constants}
    between: set[str] = set()
    for node in after.graph.node:
        names = [name for name in node.input if name]
        if not names or any(name not in values for name in names) or _has_body(node):
            continue
        if node.SerializeToString(deterministic=True) in same and between.isdisjoint(names):
            continue
        allowed = allowance.of(node)
        if allowed is not None and not between.isdisjoint(names):
            allowed = allowance.each
        results = _results(node, [values[name] if name else None for name in node.input], after)
        problems = []
        for name, actual in results.items():
            if name in known:
                problems.append(_problem(known[name], actual, allowed))
            else:
                values[name] = actual
                between.add(name)
        if problems:
            yield node.name or node.output[0], next(filter(None, problems), "")


def _results(
    node: NodeProto, operands: Sequence[Array | None], model: ModelProto
) -> dict[str, Array]:
    """Outputs by name; none if the node does not run on these operands, which is so where one was
    re-coded along with the node."""
    try:
        if (node.domain, node.op_type) in INTEGER_ACCUMULATING:
            return {node.output[0]: exact.evaluate(node, operands)}
        found = run_node(node, operands, model.opset_import)
    except CannotRun:
        return {}
    return dict(zip((name for name in node.output if name), found, strict=True))


def _problem(expected: Array, actual: Array, allowed: Tolerance | None) -> str:
    found = distance(expected, actual)
    if allowed is not None or found.wrong:
        return excess(found, allowed or CLAIMED)
    if expected.dtype.kind in "iu" and found.quanta <= FEW_QUANTA:
        return ""
    wanted = expected.astype(np.float64)
    error = float(np.sqrt(np.mean((wanted - actual) ** 2)))
    size = float(np.std(wanted))
    if not error > ROUNDED * size:
        return ""
    return f"{error / size if size else np.inf:.0%} off, more than rounding a tensor makes it"


def _has_body(node: NodeProto) -> bool:
    return any(attribute.HasField("g") for attribute in node.attribute)
