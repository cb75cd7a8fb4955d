"""The structural difference of two models, whatever nodes and inner values are called."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from qrewrite.engine.attributes import decode
from qrewrite.engine.graph import Model, Node, Value
from qrewrite.engine.io.models import read_model
from qrewrite.patterns.explain.values import node_name, shown, value_type


@dataclass(frozen=True, slots=True)
class Structure:
    """What one model has and the other has not."""

    inputs: tuple[str, ...]
    """Graph inputs that differ, with what they are on either side."""
    outputs: tuple[str, ...]
    removed: tuple[str, ...]
    """Nodes of the first without a counterpart in the second."""
    added: tuple[str, ...]
    changed: tuple[str, ...]
    """Nodes of one op and name in both, with the attributes and operands that differ."""
    ops: tuple[tuple[str, int, int], ...]
    """(op, times in the first, times in the second) where these differ."""
    same: int
    """Nodes that have an equal counterpart."""

    @property
    def is_empty(self) -> bool:
        return not (self.inputs or self.outputs or self.removed or self.added or self.changed)


def structure(first: str | PathLike[str], second: str | PathLike[str]) -> Structure:
    """Compare two model files; FileError or ModelError if one cannot be read.

    Nodes with the same op, attributes, weights and all that feeds them are counterparts; of the
    others those that agree in this but for what feeds their producers, so that what stands behind a
    change does not count as changed.
    """
    views = read_model(first), read_model(second)
    left, right = ([*view.nodes()] for view in views)
    ops = Counter(node.op for node in left), Counter(node.op for node in right)
    total = len(left)
    for key in (_deep_key(), _near_key):
        left, right = _unmatched(left, right, key)
    same = total - len(left)
    pairs = list(_same_name(left, right))
    paired = {node for pair in pairs for node in pair}
    ends = [_ends(view) for view in views]
    return Structure(
        _changes(ends[0][0], ends[1][0]),
        _changes(ends[0][1], ends[1][1]),
        tuple(node_name(node) for node in left if node not in paired),
        tuple(node_name(node) for node in right if node not in paired),
        tuple(f"{node_name(a)}: {'; '.join(_differences(a, b))}" for a, b in pairs),
        tuple(_counts(*ops)),
        same,
    )


def _counts(first: Counter[str], second: Counter[str]) -> Iterator[tuple[str, int, int]]:
    for op in sorted(first | second):
        if first[op] != second[op]:
            yield op, first[op], second[op]


def _unmatched(
    left: Sequence[Node], right: Sequence[Node], key: Callable[[Node], str]
) -> tuple[list[Node], list[Node]]:
    """The nodes that have no counterpart of the same key."""
    waiting: dict[str, list[Node]] = defaultdict(list)
    for node in right:
        waiting[key(node)].append(node)
    alone = []
    matched: set[Node] = set()
    for node in left:
        found = waiting[key(node)]
        if found:
            matched.add(found.pop(0))
        else:
            alone.append(node)
    return alone, [node for node in right if node not in matched]


def _deep_key() -> Callable[[Node], str]:
    """A digest of a node's op, its attributes and all that feeds it, down to inputs and weights."""
    known: dict[Node, str] = {}

    def key(node: Node) -> str:
        if node not in known:
            # Nodes are asked in topological order, so that producers are known.
            known[node] = _digest(node, lambda producer: known.get(producer, producer.op))
        return known[node]

    return key


def _near_key(node: Node) -> str:
    """The same of the node alone, with the ops next to it."""
    users = sorted(user.op for value in node.outputs if value is not None for user in value.uses)
    return _digest(node, lambda producer: producer.op) + repr(users)


def _digest(node: Node, of_producer: Callable[[Node], str]) -> str:
    attributes = sorted((name, _content(decode(proto))) for name, proto in node.attributes.items())
    inputs = [_of_value(value, of_producer) for value in node.inputs]
    return hashlib.sha256(repr((node.op, attributes, inputs)).encode()).hexdigest()


def _of_value(value: Value | None, of_producer: Callable[[Node], str]) -> str:
    if value is None:
        return ""
    while value.outer is not None:
        value = value.outer
    if value.producer is not None:
        return f"{of_producer(value.producer)}.{value.producer.outputs.index(value)}"
    return _content(value.array()) if value.constant else f"input {value.name}"


def _content(value: Any) -> str:
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {digest}"
    # The nodes of a body are nodes of the model, and compared as such.
    return type(value).__name__ if hasattr(value, "DESCRIPTOR") else repr(value)


def _same_name(left: Iterable[Node], right: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    named = {(node.op, node_name(node)): node for node in right}
    for node in left:
        other = named.pop((node.op, node_name(node)), None)
        if other is not None:
            yield node, other


def _differences(a: Node, b: Node) -> Iterator[str]:
    for name in sorted({*a.attributes, *b.attributes}):
        values = [decode(n.attributes[name]) if name in n.attributes else None for n in (a, b)]
        if _content(values[0]) != _content(values[1]):
            yield f"{name} {shown(values[0])} -> {shown(values[1])}"
    for position in range(max(len(a.inputs), len(b.inputs))):
        pair = [n.inputs[position] if position < len(n.inputs) else None for n in (a, b)]
        if _of_value(pair[0], lambda node: node.op) != _of_value(pair[1], lambda node: node.op):
            yield f"operand {position}: {_operand(pair[0])} -> {_operand(pair[1])}"
    pair_of_users = [
        sorted(user.op for value in n.outputs if value is not None for user in value.uses)
        for n in (a, b)
    ]
    if pair_of_users[0] != pair_of_users[1]:
        users = [", ".join(each) or "nothing" for each in pair_of_users]
        yield f"feeds {users[0]} -> {users[1]}"


def _operand(value: Value | None) -> str:
    if value is None:
        return "absent"
    return node_name(value.producer) if value.producer is not None else shown(value)


def _ends(view: Model) -> tuple[dict[str, str], dict[str, str]]:
    main = view.graph
    inputs = {value.name: value_type(value) for value in main.inputs if value.tensor is None}
    return inputs, {value.name: value_type(value) for value in main.outputs}


def _changes(first: Mapping[str, str], second: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        f"{name}: {first.get(name, 'absent')} -> {second.get(name, 'absent')}"
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    )
