"""What generated matchers call: questions about nodes and values that no expression of Python
asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrewrite.engine.attributes import decode
from qrewrite.engine.constants import same_constant
from qrewrite.engine.graph import Node, Value, consumers
from qrewrite.engine.schemas.known import split_op

from ..functions import arithmetic
from ..functions.grids import is_single
from ..functions.quantized import (
    Quantized,
    const,
    num,
    part,
    shape_part,
    type_part,
    with_parts,
    zero_point_of,
)
from . import scalars


@dataclass(frozen=True, slots=True)
class Form:
    """What the attributes of one op must be."""

    covered: frozenset[str]
    """May have any value."""
    rest: bool
    """All others may, too."""
    equal: tuple[tuple[str, Any], ...]
    present: tuple[str, ...]
    """Must have a value, stated or by default."""


def plain(node: Node, forms: Mapping[str, Form]) -> bool:
    """Whether the attributes of a node are as the form for its op wants them."""
    form = forms[node.op]
    if not form.rest:
        for name in node.attributes:
            if name not in form.covered and not _is_default(node, name):
                return False
    for name, wanted in form.equal:
        if not equal_attribute(attr(node, name), wanted):
            return False
    return all(attr(node, name) is not None for name in form.present)


def _is_default(node: Node, name: str) -> bool:
    return bool(equal_attribute(decode(node.attributes[name]), default_of(node, name)))


def equal_attribute(value: Any, wanted: Any) -> bool:
    """Attributes are stored as float32: a number of a rule is compared as one."""
    if isinstance(value, tuple) and isinstance(wanted, tuple | list):
        return len(value) == len(wanted) and all(map(equal_attribute, value, wanted))
    if isinstance(value, float) and isinstance(wanted, int | float):
        return bool(np.float32(value) == np.float32(wanted))
    if isinstance(value, np.ndarray) or isinstance(wanted, np.ndarray):
        return bool(np.array_equal(value, wanted))
    return bool(value == wanted)


def attr(node: Node, name: str) -> Any:
    """The value of an attribute, its schema's default where it is absent; None if there is none."""
    proto = node.attributes.get(name)
    return default_of(node, name) if proto is None else decode(proto)


def default_of(node: Node, name: str) -> Any:
    model = node.graph.model
    version = model.opsets.get(split_op(node.op)[0], 1)
    return model.schemas.default(node.op, version, name)


def quantized_axis(node: Node, name: str, scale: Any, data: Any) -> int | None:
    """The axis of a quantized tensor, counted from 0; None if per tensor or not known."""
    shape = shape_part(scale)
    if shape is None or is_single(shape):
        return None
    axis = attr(node, name)
    if axis is None or axis >= 0:
        return axis if axis is None else int(axis)
    rank = shape_part(data)
    return None if rank is None else int(axis) + len(rank)


def same_axis(scale: Any, a: int | None, b: int | None) -> bool:
    """Whether two axes of tensors that share a scale agree: none matters if there is one scale."""
    return bool(is_single(shape_part(scale))) or (a is not None and a == b)


def unused(outputs: list[Value | None], named: Iterable[int]) -> bool:
    """Whether all outputs but those at some positions are absent or dead."""
    keep = set(named)
    return all(
        value is None or position in keep or not (value.uses or value.is_output)
        for position, value in enumerate(outputs)
    )


def same(a: Value | None, b: Value | None) -> bool:
    """Whether two operands are one value, or constants of one content."""
    return a is b or same_constant(a, b)


def same_zero_point(a: Value | None, b: Value | None) -> bool:
    """The same of zero points, where an absent one is zero."""
    if a is b or same_constant(a, b):
        return True
    given = b if a is None else a
    if (a is not None and b is not None) or given is None or not given.constant:
        return False
    return not bool(np.any(given.array()))


def is_number(value: Value | None, wanted: Any) -> bool:
    """Whether an operand is a constant all of whose elements are a number, or that is a list."""
    if value is None or not value.constant:
        return False
    array = value.array()
    if isinstance(wanted, tuple):
        return array.size == len(wanted) and bool(
            arithmetic.eq(array.reshape(-1), np.asarray(wanted))
        )
    return array.size > 0 and bool(arithmetic.eq(array, wanted))


def op_name(node: Node) -> str:
    """The op without its domain."""
    return split_op(node.op)[1]


def op_version(node: Node) -> int | None:
    """The version that introduced the schema in force of a node's op."""
    model = node.graph.model
    schema = model.schemas.schema(node.op, model.opsets.get(split_op(node.op)[0], 1))
    return None if schema is None else schema.since_version


def each_const(things: Iterable[Any]) -> tuple[Any, ...] | None:
    """The contents of a list of constants; None if one is not constant."""
    found = tuple(const(thing) for thing in things)
    return None if any(each is None for each in found) else found


_SCALARS = (
    scalars.close,
    scalars.dim,
    scalars.kind_of,
    scalars.magnitude,
    scalars.number,
    scalars.rank,
    scalars.single,
    scalars.size,
    scalars.zero_point_is,
)


def environment() -> dict[str, Any]:
    """The names that generated code refers to."""
    names: dict[str, Any] = {
        each.__name__: each
        for each in (
            plain,
            attr,
            quantized_axis,
            same_axis,
            unused,
            same,
            same_zero_point,
            is_number,
            op_name,
            op_version,
            each_const,
            consumers,
            const,
            num,
            part,
            shape_part,
            type_part,
            with_parts,
            zero_point_of,
            Quantized,
        )
    }
    for name in ("eq", "lt", "le", "add", "sub", "mul", "div", "floordiv", "mod", "neg", "index"):
        names[name] = getattr(arithmetic, name)
    names |= {each.__name__: each for each in _SCALARS}
    for name in ("add", "sub", "mul", "div"):
        names[f"float_{name}"] = getattr(scalars, name)
    return names
