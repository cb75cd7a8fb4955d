"""Nodes of a model cut out of it: a model of their own, with the values that flow into them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from onnx import ModelProto, NodeProto

from .bodies import Opened, body_less, reads, typed
from .sessions import Array

Cut = tuple[ModelProto, dict[str, Array]]
"""A model and its inputs."""


def extract(graph: Opened, chosen: Collection[int]) -> Cut | None:
    """The nodes of these indices; None if a value at the border has no array (codes of 4 bits).

    What they read and do not make becomes a graph input, but for constants; what others read, or
    nobody, becomes an output.
    """
    proto = graph.model.graph
    nodes = [proto.node[index] for index in sorted(chosen)]
    made = {name for node in nodes for name in node.output if name}
    read = list(dict.fromkeys(name for node in nodes for name in reads(node) if name not in made))
    known = {**graph.feeds, **graph.values}
    stored = {t.name: t for t in proto.initializer}
    inputs = [name for name in read if name not in stored or name in graph.feeds]
    outputs = [name for name in made if name in _seen_outside(graph, chosen)]
    outputs.sort(key=[name for node in nodes for name in node.output].index)
    if any(name not in known for name in (*inputs, *outputs)):
        return None
    result = body_less(graph.model)
    cut = result.graph
    cut.name = f"{proto.name}_part"
    cut.node.extend(nodes)
    cut.input.extend(typed(name, known[name]) for name in inputs)
    cut.output.extend(typed(name, known[name]) for name in outputs)
    cut.initializer.extend(stored[name] for name in read if name in stored)
    inner = made - set(outputs)
    cut.value_info.extend(value for value in proto.value_info if value.name in inner)
    return result, {name: known[name] for name in inputs}


def _seen_outside(graph: Opened, chosen: Collection[int]) -> set[str]:
    """Values that a graph output, a node that is not chosen, or no node at all stands for."""
    proto = graph.model.graph
    seen = {value.name for value in proto.output}
    used: set[str] = set()
    for index, node in enumerate(proto.node):
        used.update(reads(node))
        if index not in chosen:
            seen.update(reads(node))
    return seen | {name for node in proto.node for name in node.output if name not in used}


def rings(model: ModelProto, core: Collection[int]) -> Iterator[list[int]]:
    """The core, then with what feeds it and reads it, and so on in growing steps to the whole.

    Each list has the nodes nearest to the core first.
    """
    beside = _neighbours(model.graph.node)
    found = dict.fromkeys(core)
    edge, step = list(core), 1
    yield list(found)
    while edge:
        for _ in range(step):
            edge = list(dict.fromkeys(n for each in edge for n in beside[each] if n not in found))
            found.update(dict.fromkeys(edge))
        step += 1
        if edge:
            yield list(found)


def _neighbours(nodes: Sequence[NodeProto]) -> list[list[int]]:
    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    beside: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for name in reads(node):
            if name in maker:
                beside[index].append(maker[name])
                beside[maker[name]].append(index)
    return beside


def smallest(chosen: Sequence[int], shows: Callable[[Sequence[int]], bool]) -> list[int]:
    """Fewer of these nodes, last ones left out first, that still show what all of them show."""
    kept = list(chosen)
    size = max(len(kept) // 2, 1)
    while size:
        end = len(kept)
        while end > 0:
            fewer = kept[: max(end - size, 0)] + kept[end:]
            if fewer and shows(fewer):
                kept = fewer
            end -= size
        size //= 2
    return kept
