"""Local functions: inlined where a rule could match inside, else left as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from onnx import FunctionProto, ModelProto, NodeProto, inliner

_QUANTIZING = frozenset(
    f"{domain}{op}"
    for domain in ("", "com.microsoft::")
    for op in ("QuantizeLinear", "DequantizeLinear")
)
"""Part of nearly every match: a function that wraps one of these hides it from rules outside."""

FunctionId = tuple[str, str]
"""Domain and name."""


def inline_functions(proto: ModelProto, anchors: Collection[str]) -> ModelProto | None:
    """A copy of the model without the local functions that matter to rules; None if there are none.

    These are the functions that hold, themselves or in functions they call, an op of `anchors` (the
    ops that rules are tried on, as in `Node.op`) or one that quantizes. Functions of other opset
    versions than the model's stay: their nodes would mean something else in its graph.
    """
    versions = _versions(proto)
    fitting = [f for f in proto.functions if _versions(f).items() <= versions.items()]
    chosen = _chosen(fitting, frozenset(anchors) | _QUANTIZING)
    if not chosen:
        return None
    others = [function for function in proto.functions if function not in fitting]
    if others:  # the inliner takes no model that has any of these
        reduced = ModelProto()
        reduced.CopyFrom(proto)
        del reduced.functions[:]
        reduced.functions.extend(fitting)
        proto = reduced
    inlined = inliner.inline_selected_functions(proto, sorted(chosen))
    inlined.functions.extend(others)
    return inlined


def _versions(proto: ModelProto | FunctionProto) -> dict[str, int]:
    return {"" if i.domain == "ai.onnx" else i.domain: i.version for i in proto.opset_import}


def _chosen(functions: Iterable[FunctionProto], ops: frozenset[str]) -> set[FunctionId]:
    called = {
        (function.domain, function.name): {_name(node) for node in _nodes(function.node)}
        for function in functions
    }
    chosen: set[FunctionId] = set()
    wanted = ops
    while found := {key for key, uses in called.items() if key not in chosen and uses & wanted}:
        chosen |= found
        wanted = wanted | {f"{domain}::{name}" for domain, name in found}
    return chosen


def _name(node: NodeProto) -> str:
    domain = "" if node.domain == "ai.onnx" else node.domain
    return f"{domain}::{node.op_type}" if domain else node.op_type


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes and those of bodies inside them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _nodes(body.node)
