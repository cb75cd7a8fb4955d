"""The actual values at which a condition of a rule failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qrewrite.engine.graph import Node, Value

from ..compiler.code import Kind
from ..compiler.conditions import taken_apart
from ..compiler.flat import Condition, Scope
from ..compiler.references import operands_of
from ..functions.quantized import Quantized, const, shape_part, type_part
from ..syntax import Call, Compare, Expr, Field, Literal, Logical, Member, Name, Unary
from .reading import Leaf, Reader
from .values import array_text, number, origin, shape_text, shown, type_name
from .words import words

UNKNOWN_TYPE = "no zero point, no value_info"


def facts_of(condition: Condition, reader: Reader) -> list[str]:
    """What the graph has instead, in a line or a few."""
    element = reader.go_to_failure(condition)
    if condition.attribute is not None:
        name, found = condition.attribute.attribute, reader.attribute(condition)
        wanted = reader.value(condition.expression, condition.scope).value
        found_lines = [f"{name} is {shown(found)}, and {shown(wanted)} is wanted"]
    else:
        found_lines = list(dict.fromkeys(_facts(condition.expression, condition.scope, reader)))
    if element is not None:
        found_lines.insert(0, f"element {element} of the list, counted from 0:")
    return found_lines


def values_read(expression: Expr, scope: Scope, reader: Reader) -> list[str]:
    """The values of all captures that an expression reads, but for tensors that a function goes
    through code by code."""
    if isinstance(expression, Call) and expression.function in _BY_CODES:
        return []
    if isinstance(expression, Name | Field | Literal) or not any(operands_of(expression)):
        return list(dict.fromkeys(_read(expression, scope, reader)))
    found = (values_read(operand, scope, reader) for operand in operands_of(expression))
    return list(dict.fromkeys(line for lines in found for line in lines))


def _facts(expression: Expr, scope: Scope, reader: Reader) -> Iterator[str]:
    match expression:
        case Logical("and", operands):
            failing = [each for each in operands if not reader.holds(each, scope)]
            for each in failing[:1]:
                yield from _facts(each, scope, reader)
        case Logical(_, operands):
            for each in operands:
                yield from _facts(each, scope, reader)
        case Unary("not", Call(function=name) as operand) if name in _BORDER:
            yield from _at_border(operand, True, scope, reader)
        case Unary("not", operand):
            yield from _read(operand, scope, reader)
        case Call(function=name) if name in _BORDER:
            yield from _at_border(expression, False, scope, reader)
        case Call(function=name) if name in reader.pack.guards:
            yield from _of_guard(expression, scope, reader)
        case Call(function=name):
            special = _SPECIAL.get(name)
            if special is not None:
                yield from special(expression, scope, reader)
            else:
                yield from _read(expression, scope, reader)
        case Compare(first, rest):
            yield from _of_comparison(first, rest, scope, reader)
        case Member(operand):
            yield from _read(operand, scope, reader)
        case _:
            yield from _read(expression, scope, reader)


def _of_guard(call: Call, scope: Scope, reader: Reader) -> Iterator[str]:
    for part in taken_apart(Condition(call, scope), reader.flat, reader.pack):
        if not reader.holds(part.expression, part.scope):
            yield from _facts(part.expression, part.scope, reader)
            return


# ---- comparisons -------------------------------------------------------------------------------


def _of_comparison(
    first: Expr, rest: Sequence[tuple[str, Expr]], scope: Scope, reader: Reader
) -> Iterator[str]:
    left = first
    for word, right in rest:
        pair = Compare(left, ((word, right),), left.span)
        if not reader.holds(pair, scope):
            yield from _of_pair(left, word, right, scope, reader)
            return
        left = right


def _of_pair(left: Expr, word: str, right: Expr, scope: Scope, reader: Reader) -> Iterator[str]:
    sides = [(each, reader.value(each, scope)) for each in (left, right)]
    simple = all(isinstance(each, Literal | Name | Field) for each, _ in sides)
    kinds = {reading.kind for _, reading in sides}
    values = [const(reading.value) for _, reading in sides]
    numeric = not kinds & {Kind.TYPE, Kind.TUPLE} and all(map(_is_numeric, values))
    if simple or not numeric:
        yield from _read(Compare(left, ((word, right),), left.span), scope, reader)
    if not numeric:
        return
    a, b = worst(values[0], values[1], word)
    if isinstance(right, Literal):
        if not simple:
            yield f"{words(left, scope)} is {number(a)}"
    elif isinstance(left, Literal):
        yield f"{words(right, scope)} is {number(b)}"
    else:
        percent = _percent(a, b) if word == "==" and isinstance(a, np.floating) else ""
        yield f"{number(a)} against {number(b)}{percent}"


def worst(left: Any, right: Any, word: str = "==") -> tuple[Any, Any]:
    """The two elements that break a comparison most."""
    try:
        a, b = np.broadcast_arrays(np.asarray(left), np.asarray(right))
    except ValueError:
        return np.size(left), np.size(right)
    a, b = a.reshape(-1), b.reshape(-1)
    if not a.size:
        return 0, 0
    with np.errstate(all="ignore"):
        wide = a.astype(np.float64), b.astype(np.float64)
        gap = wide[0] - wide[1]
    size = np.abs(gap) if word in ("==", "!=") else gap if word in ("<", "<=") else -gap
    index = int(np.argmax(np.where(np.isnan(size), np.inf, size)))
    return a[index], b[index]


def _percent(a: Any, b: Any) -> str:
    a, b = float(a), float(b)
    if not b or not np.isfinite(a) or not np.isfinite(b):
        return ""
    share = abs(a - b) / abs(b)
    return f", {share * 100:.2g} % apart" if share < 10 else f", {share:.2g} times apart"


def _is_numeric(value: Any) -> bool:
    return value is not None and np.asarray(value).dtype.kind in "biuf"


# ---- functions ---------------------------------------------------------------------------------


def _at_border(call: Call, is_there: bool, scope: Scope, reader: Reader) -> Iterator[str]:
    """Whether values are inputs or outputs of the graph."""
    for argument in call.arguments:
        value = reader.value(argument, scope).value
        if isinstance(value, Value):
            yield f"{value.name!r} is {'a' if is_there else 'no'} graph {_BORDER[call.function]}"


def _close(call: Call, scope: Scope, reader: Reader) -> Iterator[str]:
    values = [const(reader.value(each, scope).value) for each in call.arguments[:2]]
    if any(value is None for value in values):
        yield from _read(call, scope, reader)
        return
    a, b = worst(values[0], values[1])
    many = max(np.size(value) for value in values)
    which = f" at the worst of {many} elements" if many > 1 else ""
    yield f"{number(a)} against {number(b)}{_percent(a, b)}{which}"


def _is_const(call: Call, scope: Scope, reader: Reader) -> Iterator[str]:
    for argument in call.arguments:
        value = reader.value(argument, scope).value
        found = origin(value) if isinstance(value, Value) else shown(value)
        yield f"{words(argument, scope)} is {found}"


def _per_tensor(call: Call, scope: Scope, reader: Reader) -> Iterator[str]:
    for argument in call.arguments:
        scale = reader.value(Field(argument, "scale", argument.span), scope).value
        shape = shape_part(scale)
        if shape not in ((), (1,)):
            name = words(argument, scope)
            where = f"{name}.scale has shape {shape_text(shape)}"
            yield where if shape is not None else f"shape of {name}.scale unknown"


def _per_axis(call: Call, scope: Scope, reader: Reader) -> Iterator[str]:
    argument, axis = call.arguments[0], call.arguments[1]
    name = words(argument, scope)
    shape = shape_part(reader.value(Field(argument, "scale", argument.span), scope).value)
    if shape is None or len(shape) != 1 or shape == (1,):
        yield f"{name}.scale has shape {shape_text(shape)}"
        return
    found = reader.value(Field(argument, "axis", argument.span), scope).value
    wanted = reader.value(axis, scope).value
    along = f"along axis {shown(found)}, not {shown(wanted)}"
    yield f"{name} has its {shape_text(shape)} scales {along}"


def _same_grid(call: Call, scope: Scope, reader: Reader) -> Iterator[str]:
    first = call.arguments[0]
    for other in call.arguments[1:]:
        pair = Call(call.function, (first, other), (), call.span)
        if not reader.holds(pair, scope):
            names = words(first, scope), words(other, scope)
            grids = [_grid(each, scope, reader) for each in (first, other)]
            yield from _grid_difference(names, *grids)
            return


def _grid(expression: Expr, scope: Scope, reader: Reader) -> Quantized:
    parts = {
        name: reader.value(Field(expression, name, expression.span), scope).value
        for name in ("scale", "zero_point", "axis", "block_size")
    }
    data = reader.value(expression, scope).value
    if isinstance(data, Quantized):
        return data
    return Quantized(
        data, parts["scale"], parts["zero_point"], parts["axis"], parts["block_size"] or 0
    )


def _grid_difference(names: tuple[str, str], a: Quantized, b: Quantized) -> Iterator[str]:
    kinds = type_part(a), type_part(b)
    if 0 in kinds:
        name = names[kinds.index(0)]
        yield f"type of {name} unknown: {UNKNOWN_TYPE}"
    elif kinds[0] != kinds[1]:
        yield f"{names[0]}.type is {type_name(kinds[0])}, {names[1]}.type is {type_name(kinds[1])}"
    for part in ("scale", "zero_point"):
        yield from _part_difference(names, part, getattr(a, part), getattr(b, part))
    if a.axis != b.axis:
        yield f"axis {shown(a.axis)} against {shown(b.axis)}"


def _part_difference(names: tuple[str, str], part: str, a: Any, b: Any) -> Iterator[str]:
    left, right = (0 if each is None else const(each) for each in (a, b))
    if left is None or right is None:
        if a is not b:
            name, value = (names[0], a) if left is None else (names[1], b)
            yield f"{name}.{part} is no constant: {shown(value)}"
        return
    if np.size(left) != np.size(right):
        yield f"{part}s of {np.size(left)} and {np.size(right)} elements"
        return
    x, y = worst(left, right)
    if x != y:
        # An absent zero point is read as the number 0.
        absent = " (absent: 0)" if isinstance(a, int) or isinstance(b, int) else ""
        percent = _percent(x, y) if part == "scale" else ""
        shown_part = part.replace("_", " ")
        yield f"{shown_part} {number(x)} against {number(y)}{percent}{absent}"


_BY_CODES = frozenset({"codes_of", "table_of", "addend_of"})
_BORDER = {"is_input": "input", "is_output": "output"}
_SPECIAL = {
    "close": _close,
    "is_const": _is_const,
    "per_tensor": _per_tensor,
    "per_axis": _per_axis,
    "same_grid": _same_grid,
}


# ---- what an expression reads ------------------------------------------------------------------


def _read(expression: Expr, scope: Scope, reader: Reader) -> Iterator[str]:
    """The values of the captures in an expression, unknown ones first."""
    of_shape = _asks_shape(expression)
    leaves = list(reader.leaves(expression, scope))
    for leaf in leaves:
        yield from _of_leaf(leaf, of_shape, reader)


def _of_leaf(leaf: Leaf, of_shape: frozenset[str], reader: Reader) -> Iterator[str]:
    expression, scope = leaf.expression, leaf.scope
    text = words(expression, scope)
    reading = reader.value(expression, scope)
    value = reading.value
    if isinstance(expression, Field) and expression.name == "type":
        base = words(expression.base, scope)
        unknown = f"type of {base} unknown: {UNKNOWN_TYPE}"
        yield f"{text} is {type_name(value)}" if value else unknown
    elif isinstance(value, Node):
        yield f"{text} is {shown(value)}"
    elif text in of_shape:
        shape = shape_part(value)
        known = shape is not None and None not in shape
        yield f"{text} has shape {shape_text(shape)}" if known else _unknown_shape(text, shape)
    elif isinstance(value, Value) and not value.constant:
        yield f"{text} is no constant, but {origin(value)}"
    elif isinstance(const(value), np.ndarray):
        yield f"{text} is {array_text(const(value))}"
    elif reading.kind is Kind.ZERO_POINT or value is not None:
        yield f"{text} is {shown(value)}"
    else:
        yield f"{text} unknown"


def _unknown_shape(text: str, shape: Sequence[int | None] | None) -> str:
    if shape is None:
        return f"shape of {text} unknown: no value_info, and shape inference finds none"
    return f"{text} has shape {shape_text(shape)}, not known in full"


_ASK_SHAPE = frozenset({"rank", "dim", "shape", "size"})


def _asks_shape(expression: Expr) -> frozenset[str]:
    """Captures of which only the shape is asked."""
    found: set[str] = set()
    if isinstance(expression, Call) and expression.function in _ASK_SHAPE:
        found |= {words(each) for each in expression.arguments[:1]}
    for operand in operands_of(expression):
        found |= _asks_shape(operand)
    return frozenset(found)
