"""Values and nodes of a graph as a person wants to read them: short, and never a whole tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qrewrite.engine import dtypes
from qrewrite.engine.graph import Node, Value, consumers
from qrewrite.engine.inference import shape_of, type_of

from ..functions.quantized import Quantized, const

_FEW = 4
"""Elements of a tensor that are shown one by one, and nodes that are named."""


def node_name(node: Node) -> str:
    """``Conv conv_3``; of a node without name what it makes."""
    name = node.name or next((f"-> {v.name}" for v in node.outputs if v is not None), "")
    return f"{node.op} {name}".rstrip()


def node_text(node: Node) -> str:
    """The same with the name in quotes, for sentences."""
    op, _, name = node_name(node).partition(" ")
    return f"{op} '{name}'"


def nodes_named(nodes: Sequence[Node]) -> str:
    shown = ", ".join(node_text(node) for node in nodes[:_FEW])
    return f"{shown} and {len(nodes) - _FEW} more" if len(nodes) > _FEW else shown


def type_name(kind: int) -> str:
    return dtypes.short_name(kind) if kind else "unknown"


def shape_text(shape: Iterable[int | None] | None) -> str:
    if shape is None:
        return "[?]"
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def value_type(value: Value) -> str:
    """``u8 [1, 3, 8, 8]``."""
    return f"{type_name(type_of(value))} {shape_text(shape_of(value))}"


def origin(value: Value) -> str:
    """Where a value comes from."""
    while value.outer is not None:
        value = value.outer
    if value.producer is not None:
        return f"made by {node_text(value.producer)}"
    if value.constant:
        return "a constant"
    if value.is_input:
        overridable = ", whose initializer a caller may override" if value.tensor else ""
        return f"a graph input{overridable}"
    return "of an enclosing graph or made at run time"


def users(value: Value) -> list[Node]:
    return list(dict.fromkeys(consumers(value)))


def number(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, int | np.integer):
        return str(int(value))
    return f"{float(value):.6g}"


def shown(value: Any) -> str:
    """Any value of an expression."""
    if value is None:
        return "none"
    if isinstance(value, bool | np.bool_ | int | float | np.number):
        return number(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return "[" + ", ".join(shown(each) for each in value) + "]"
    if isinstance(value, Node):
        return node_name(value)
    if isinstance(value, Quantized):
        return shown(value.data)
    if isinstance(value, Value):
        array = const(value)
        if array is None:
            return f"{value.name!r}, {value_type(value)}, {origin(value)}"
        return array_text(array)
    return array_text(value) if isinstance(value, np.ndarray) else str(value)


def array_text(array: np.ndarray[Any, Any]) -> str:
    """The elements of a small tensor, the range of a large one."""
    if array.dtype.kind in "OSU":
        return f"strings {shape_text(array.shape)}"
    wide = array if array.dtype.kind in "biuf" else array.astype(np.float64)
    if array.size == 1:
        return number(wide.reshape(-1)[0])
    if array.size <= _FEW:
        inner = ", ".join(number(each) for each in wide.reshape(-1))
        return f"[{inner}]"
    ends = f"{number(wide.min())} to {number(wide.max())}"
    return f"{array.size} values from {ends}"
