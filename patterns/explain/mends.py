"""How to mend what a condition found, where that follows from the condition alone."""

from __future__ import annotations

from collections.abc import Iterator

from qrewrite.engine.graph import Value

from ..compiler.flat import Condition
from ..compiler.references import operands_of
from ..functions.quantized import shape_part
from ..packs.options import show
from ..syntax import Call, Compare, Expr, Field, Name, Setting
from .reading import Leaf, Reader

_STATE_TYPE = "state the type: give the model value_info (onnx.shape_inference)"


def mend_of(condition: Condition, reader: Reader) -> str:
    """A sentence, or "" where there is no mend but to change the model's numbers."""
    if condition.attribute is not None:
        return ""
    found = _of_call(condition, reader) or _of_types(condition, reader)
    if found:
        return found
    for leaf in reader.leaves(condition.expression, condition.scope):
        found = _of_leaf(leaf, reader)
        if found:
            return found
    return ""


_BY_FUNCTION = {
    "same_grid": "give both one scale and zero point: calibrate them together",
    "per_tensor": "quantize it per tensor, with one scale",
    "per_axis": "quantize the weight along the axis of the op's output channels",
}


def _of_call(condition: Condition, reader: Reader) -> str:
    """Of one of the functions about grids; a type that is not known goes before."""
    expression = condition.expression
    if not isinstance(expression, Call):
        return ""
    if expression.function == "is_const":
        return _of_computed(expression, condition, reader)
    for argument in expression.arguments[:2]:
        part = Field(argument, "type", argument.span)
        if expression.function == "same_grid" and not _known(part, condition, reader):
            return _STATE_TYPE
    return _BY_FUNCTION.get(expression.function, "")


def _of_computed(call: Call, condition: Condition, reader: Reader) -> str:
    value = reader.value(call.arguments[0], condition.scope).value
    if not isinstance(value, Value) or value.producer is None:
        return ""
    constant = all(each is None or each.constant for each in value.producer.inputs)
    return "fold constants: all that it is computed from is constant" if constant else ""


def _of_types(condition: Condition, reader: Reader) -> str:
    """Of two types that are to be one."""
    match condition.expression:
        case Compare(Field(name="type") as left, (("==", Field(name="type") as right),)):
            known = all(_known(each, condition, reader) for each in (left, right))
            return "quantize both in one type" if known else _STATE_TYPE
        case _:
            return _of_shape(condition, reader)


def _of_shape(condition: Condition, reader: Reader) -> str:
    for asked in _shape_calls(condition.expression):
        value = reader.value(asked.arguments[0], condition.scope).value
        shape = shape_part(value)
        if shape is None:
            return "run shape inference on the model and save its result (onnx.shape_inference)"
    return ""


def _shape_calls(expression: Expr) -> Iterator[Call]:
    if isinstance(expression, Call) and expression.function in ("rank", "dim", "shape", "size"):
        yield expression
    for operand in operands_of(expression):
        yield from _shape_calls(operand)


def _known(expression: Expr, condition: Condition, reader: Reader) -> bool:
    return bool(reader.value(expression, condition.scope).value)


def _of_leaf(leaf: Leaf, reader: Reader) -> str:
    expression, scope = leaf.expression, leaf.scope
    match expression:
        case Field(Name("options"), name):
            return (
                f"set another value of the pack's option: --set {name}={_other(name, leaf, reader)}"
            )
        case Name("opset") if scope.find("opset") is None:
            return "convert the model to the opset that the rule asks for (onnx.version_converter)"
        case Field(name="type"):
            if not reader.value(expression, scope).value:
                return _STATE_TYPE
        case _:
            pass
    value = reader.value(expression, scope).value
    if isinstance(value, Value) and value.tensor is not None and not value.constant:
        return f"take {value.name!r} from the inputs of the graph, if no caller overrides it"
    return ""


def _other(name: str, leaf: Leaf, reader: Reader) -> str:
    """The values that an option may have; of a switch the other one."""
    now = reader.value(leaf.expression, leaf.scope).value
    if isinstance(now, bool):
        return _given(not now)
    return "|".join(map(_given, reader.pack.options[name].choices)) or "VALUE"


def _given(value: Setting) -> str:
    """As on the command line."""
    return value if isinstance(value, str) else show(value)
