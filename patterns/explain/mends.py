"""How to mend what a condition found, where that follows from the condition alone."""

from __future__ import annotations

from qrewrite.engine.graph import Value

from ..compiler.flat import Condition
from ..options import show
from ..syntax import Field, Name, Setting
from .reading import Leaf, Reader


def mend_of(condition: Condition, reader: Reader) -> str:
    """A sentence, or "" where there is no mend but to change the model's numbers."""
    if condition.attribute is not None:
        return ""
    for leaf in reader.leaves(condition.expression, condition.scope):
        found = _of_leaf(leaf, reader)
        if found:
            return found
    return ""


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
                return "state the type: give the model value_info (onnx.shape_inference)"
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
