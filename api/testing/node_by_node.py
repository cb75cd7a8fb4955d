"""The nodes of a rewritten model judged one by one.

A rewrite keeps the names of values.  So each new node whose operands the original computes as well
is run on just those, and must give what the original has there.  What the original does not
compute, a value between two nodes of one template say, is computed from what it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import ModelProto, NodeProto, numpy_helper

from . import exact
from .claims import Tolerance, distance, excess
from .reference import INTEGER_ACCUMULATING
from .sessions import Array, CannotRun, run_node


def judge_nodes(
    before: ModelProto, after: ModelProto, known: Mapping[str, Array], allowed: Tolerance,
    lossy: Sequence[str],
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Name and problem ("": none) of each new node that can be judged.

    `known`: what the original computes, by name; `lossy`: see `compare_models`.
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
        if _is_lossy(node, lossy):
            continue
        results = _results(node, [values[name] if name else None for name in node.input], after)
        problems = []
        for name, actual in results.items():
            if name in known:
                problems.append(excess(distance(known[name], actual), allowed))
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


def _has_body(node: NodeProto) -> bool:
    return any(attribute.HasField("g") for attribute in node.attribute)


def _is_lossy(node: NodeProto, lossy: Sequence[str]) -> bool:
    if not lossy:
        return False
    made = next((entry.value for entry in node.metadata_props if "rule" in entry.key), None)
    if made is None:
        return (node.domain, node.op_type) in INTEGER_ACCUMULATING
    return any(name in made.split() for name in lossy)
