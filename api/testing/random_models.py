"""Random quantized models: what the patterns of a pack are about, put together to one graph."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import reject
from hypothesis.strategies import DrawFn, SearchStrategy, composite
from onnx import GraphProto, ModelProto, ValueInfoProto, helper

import qrewrite
from qrewrite.patterns.packs.pack import Pack, PackRule

from .build_case import build_case
from .case import Case
from .draws import Draw, HypothesisDraw, chance, pick
from .expand_pattern import Unsatisfiable
from .protos import ir_version
from .sessions import Array
from .settle_types import OPSETS
from .solve import Setting, solve

ATTEMPTS = 8


def qdq_models(pack: str = "ort-cpu", most: int = 6) -> SearchStrategy[ModelProto]:
    """Random QDQ models: one to `most` pieces, each what a pattern of the pack is about, with
    shared nodes and graph outputs inside, joined where an output fits an input."""
    return _models(_Pack(qrewrite.load_pack(pack)), most)


class _Pack:
    """A pack with a short representation: Hypothesis prints dataclasses in full."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack

    def __repr__(self) -> str:
        return self.pack.name


@composite
def _models(draw: DrawFn, holder: _Pack, most: int) -> ModelProto:
    pack = holder.pack
    source = HypothesisDraw(draw)
    count = source.integer(1, most)

    def make(setting: Setting, draw: Draw) -> Case | None:
        attempts = (piece_of(pack, pick(draw, pack.rules), setting, draw) for _ in range(ATTEMPTS))
        return next((case for case in attempts if case is not None), None)

    setting = Setting(pick(source, OPSETS), default_options(pack))
    model, _ = random_model(make, setting, count, source)
    if not model.graph.node:
        reject()
    return model


MakePiece = Callable[[Setting, Draw], Case | None]
"""A piece of a model, if one can be made."""


def random_model(
    make: MakePiece, setting: Setting, count: int, draw: Draw
) -> tuple[ModelProto, dict[str, Array]]:
    """A model of up to `count` pieces, and the inputs that must be fed with a given content."""
    pieces = [case for case in (make(setting, draw) for _ in range(count)) if case is not None]
    joined = GraphProto(name="graph")
    pinned: dict[str, Array] = {}
    for index, case in enumerate(pieces):
        _append(joined, case, f"p{index}_", draw)
        pinned |= {f"p{index}_{name}": array for name, array in case.pinned.items()}
    imports = [helper.make_opsetid("", setting.opset), helper.make_opsetid("com.microsoft", 1)]
    version = ir_version(setting.opset)
    return helper.make_model(joined, opset_imports=imports, ir_version=version), pinned


def piece_of(pack: Pack, rule: PackRule, setting: Setting, draw: Draw) -> Case | None:
    """A graph that the rule matches; None where its choices cannot be completed."""
    try:
        return build_case(solve(pack, rule.rule, draw, setting=setting), draw)
    except Unsatisfiable:
        return None


def default_options(pack: Pack) -> dict[str, object]:
    return {name: option.default for name, option in pack.options.items()}


def _append(graph: GraphProto, case: Case, prefix: str, draw: Draw) -> None:
    """Add a piece under names of its own; an input may be an output of an earlier piece."""
    piece = GraphProto()
    piece.CopyFrom(case.model.graph)
    _prefix(piece, prefix)
    earlier = {_signature(info): info.name for info in graph.output}
    given = {tensor.name for tensor in piece.initializer}
    for info in piece.input:
        source = earlier.get(_signature(info))
        free = info.name not in given and info.name.removeprefix(prefix) not in case.pinned
        if source is not None and free and chance(draw, 60):
            _rename(piece, {info.name: source})
        else:
            graph.input.append(info)
    graph.node.extend(piece.node)
    graph.output.extend(piece.output)
    graph.initializer.extend(piece.initializer)


def _signature(info: ValueInfoProto) -> bytes:
    return bytes(info.type.SerializeToString(deterministic=True))


def _prefix(graph: GraphProto, prefix: str) -> None:
    _rename(graph, {name: f"{prefix}{name}" for name in _names(graph)})
    _name_nodes(graph, prefix)


def _name_nodes(graph: GraphProto, prefix: str) -> None:
    for node in graph.node:
        node.name = f"{prefix}{node.name}"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _name_nodes(attribute.g, prefix)


def _names(graph: GraphProto) -> set[str]:
    found = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
    for node in graph.node:
        found.update(name for name in (*node.input, *node.output) if name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _names(attribute.g)
    return found


def _rename(graph: GraphProto, names: dict[str, str]) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        info.name = names.get(info.name, info.name)
    for node in graph.node:
        for slots in (node.input, node.output):
            for index, name in enumerate(slots):
                slots[index] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, names)
