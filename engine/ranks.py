"""Ranks that follow from an op or from the length of a shape, where shape inference gives up.

ONNX shape inference says nothing of a Reshape to a computed shape, of a Conv or Flatten of a tensor
of unknown rank, nor of what stands behind them; but their ranks are known.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import AttributeProto, GraphProto, NodeProto, TypeProto

Dims = tuple[int | None, ...]
_LIKE_WEIGHT = {"Conv": 1, "ConvTranspose": 1, "ConvInteger": 1, "QLinearConv": 3}
"""Which operand has the rank of the result."""
_MATRICES = frozenset({"Flatten", "Gemm"})


def state_ranks(graph: GraphProto, outer: Mapping[str, Dims] | None = None) -> bool:
    """Add ranks to the `value_info` of a graph after shape inference; True if there is a new one.

    Dimensions stay unknown. `outer`: shapes of the enclosing graphs' values by name.
    """
    types = {info.name: info.type for info in (*graph.input, *graph.output, *graph.value_info)}
    known = dict(outer or {})
    known.update({tensor.name: tuple(tensor.dims) for tensor in graph.initializer})
    known.update({name: dims for name, kind in types.items() if (dims := _dims(kind)) is not None})
    changed = False
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                changed |= state_ranks(attribute.g, known)
        name = node.output[0] if node.output else ""
        kind = types.get(name)
        rank = None if kind is None or name in known else _rank(node, known)
        if kind is not None and rank is not None:
            known[name] = (None,) * rank
            for _ in range(rank):
                kind.tensor_type.shape.dim.add()
            changed = True
    return changed


def _dims(kind: TypeProto) -> Dims | None:
    tensor = kind.tensor_type
    if not kind.HasField("tensor_type") or not tensor.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)


def _rank(node: NodeProto, known: Mapping[str, Dims]) -> int | None:
    """The rank of a node's first output, at least 1; None if it is not known."""
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type in _MATRICES:
        return 2
    if node.op_type == "Reshape" and len(node.input) > 1:
        dims = known.get(node.input[1])
        return dims[0] or None if dims is not None and len(dims) == 1 else None
    place = _LIKE_WEIGHT.get(node.op_type)
    weight = known.get(node.input[place]) if place is not None else None
    return len(weight) if weight else None
