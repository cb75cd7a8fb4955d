"""A pattern as a tree, and beside each of its nodes what the graph has there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from qrewrite.engine.graph import Node, Value
from qrewrite.engine.inference import shape_of

from ..compiler.anchor import is_quantizer
from ..compiler.flat import (
    EachOperand,
    Flat,
    FlatChain,
    FlatNode,
    FlatValue,
    NumberOperand,
    ValueOperand,
    consumers_in,
)
from ..compiler.places import Places
from .interpreter import Environment
from .values import array_text, node_name, value_type
from .words import text_of

_FEW = 4
"""Elements of a constant that are shown."""


@dataclass(frozen=True, slots=True)
class Row:
    depth: int
    pattern: str
    graph: str
    """Empty where matching did not come so far."""
    fits: bool


def tree_of(flat: Flat, places: Places, environment: Environment) -> tuple[Row, ...]:
    """The nodes from each result down; a value that several nodes take stands once."""
    drawing = _Drawing(flat, places, environment)
    consumed = consumers_in(flat)
    for node in flat.nodes:
        if not any(consumed.get(value) for value in node.outputs if value is not None):
            drawing.node(node, 0)
    for node in flat.nodes:
        drawing.node(node, 0)
    return tuple(drawing.rows)


class _Drawing:
    def __init__(self, flat: Flat, places: Places, environment: Environment) -> None:
        self.flat = flat
        self.places = places
        self.environment = environment
        self.rows: list[Row] = []
        self._drawn: set[FlatNode] = set()

    def node(self, node: FlatNode, depth: int) -> None:
        if node in self._drawn:
            return
        self._drawn.add(node)
        found = self._found(node)
        graph = node_name(found) if isinstance(found, Node) else ""
        fits = isinstance(found, Node) and found.op in node.ops
        self.rows.append(Row(depth, _node_words(node, depth), graph, fits))
        for operand in node.operands:
            match operand:
                case ValueOperand(value):
                    self.value(value, depth + 1)
                case NumberOperand(number):
                    self.rows.append(Row(depth + 1, str(number), "", True))
                case EachOperand(each):
                    text = f"{_one_line(text_of(each.span))}..."
                    self.rows.append(Row(depth + 1, text, "", True))
                case _:
                    pass

    def value(self, value: FlatValue, depth: int) -> None:
        producer = value.producer
        if isinstance(producer, FlatNode) and producer in self.flat.nodes:
            self.node(producer, depth)
            return
        if isinstance(producer, FlatChain):
            self.rows.append(Row(depth, _one_line(text_of(producer.span)), "", True))
            return
        if not value.name or "." in value.name:
            return
        found = self._found(value)
        graph = _value_words(found) if isinstance(found, Value) else ""
        self.rows.append(Row(depth, value.name, graph, True))

    def _found(self, thing: FlatNode | FlatValue) -> object:
        text = self.places.find(thing)
        return self.environment.get(text) if text is not None else None


def _node_words(node: FlatNode, depth: int) -> str:
    names = list(dict.fromkeys(_short(op) for op in node.ops))
    shown = " or ".join(names[:2]) + (" or ..." if len(names) > 2 else "")
    made = [value.name for value in node.outputs if value is not None and value.name]
    return f"{', '.join(made)} = {shown}" if made and not depth else shown


def _short(op: str) -> str:
    name = op.rpartition("::")[2]
    if is_quantizer(op):
        return "Q" if name == "QuantizeLinear" else "DQ"
    return name


def _value_words(value: Value) -> str:
    kind = f"{value.name}: {value_type(value)}"
    if not value.constant:
        return kind
    if _is_large(value):
        return f"{kind}, constant"
    return f"{kind} = {array_text(value.array())}"


def _is_large(value: Value) -> bool:
    shape = shape_of(value)
    return shape is None or None in shape or math.prod(size or 0 for size in shape) > _FEW


def _one_line(text: str) -> str:
    return " ".join(text.split())


def drawn(rows: tuple[Row, ...], width: int) -> Iterator[str]:
    """Lines of at most ``width`` characters: pattern, a mark where they differ, graph."""
    left = max((2 * row.depth + len(row.pattern) for row in rows), default=0)
    left = min(max(left, len("pattern")), width // 2)
    yield f"{'pattern':<{left}}   graph"
    for row in rows:
        text = "  " * row.depth + row.pattern
        mark = " " if row.fits else "x" if row.graph else "?"
        yield cut(f"{cut(text, left):<{left}} {mark} {row.graph}".rstrip(), width)


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
