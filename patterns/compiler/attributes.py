"""The test of a node's attributes: those written are as written, all others at their defaults."""

from __future__ import annotations

from typing import Any

from qrewrite.engine.dtypes import NUMBERS

from ..syntax import (
    Attribute,
    DropAttribute,
    Expr,
    ListOf,
    Literal,
    Name,
    RestAttributes,
    Unary,
)
from .alternatives import is_literal
from .flat import FlatNode
from .flat import Form as Written
from .helpers import Helpers
from .runtime import Form, equal_attribute
from .schema_facts import constant_default
from .steps import Steps


def attribute_test(node: FlatNode, name: str, helpers: Helpers, steps: Steps) -> None:
    """Add the test of a node's attributes, if any can fail it."""
    forms = {form.op: _form(form) for form in node.forms}
    if all(form.rest and not form.equal and not form.present for form in forms.values()):
        return
    table = helpers.constant(f"attributes {sorted(forms.items())!r}", forms)
    test = f"plain({name}, {table})"
    if all(_holds_without(op, form) for op, form in forms.items()):
        test = f"(not {name}.attributes or {test})"
    steps.test(test, node.span, "attributes are those written, all others at their defaults")


def _form(written: Written) -> Form:
    covered: set[str] = set()
    equal: list[tuple[str, Any]] = []
    present: list[str] = []
    rest = False
    for item in written.attributes or ():
        match item:
            case RestAttributes():
                rest = True
            case DropAttribute(name):
                covered.add(name)
            case Attribute(name, value, optional):
                covered.add(name)
                if is_literal(value):
                    equal.append((name, literal_value(value)))
                elif not optional:
                    present.append(name)
    return Form(frozenset(covered), rest, tuple(equal), tuple(present))


def _holds_without(op: str, form: Form) -> bool:
    """Whether a node that states no attribute passes, at every opset."""
    defaults = {name: constant_default(op, name) for name, _ in form.equal}
    defaults |= {name: constant_default(op, name) for name in form.present}
    return all(
        defaults[name] is not None and equal_attribute(defaults[name], wanted)
        for name, wanted in form.equal
    ) and all(defaults[name] is not None for name in form.present)


def literal_value(expression: Expr) -> Any:
    """The value of a literal of a rule; element types are their ONNX numbers."""
    match expression:
        case Literal(value):
            return value
        case Name(id=name):
            return NUMBERS[name]
        case Unary(_, operand):
            return -literal_value(operand)
        case ListOf(elements):
            return tuple(literal_value(each) for each in elements)
        case _:
            raise AssertionError(expression)
