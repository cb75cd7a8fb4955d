"""Declarations of custom ops as schemas."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import AttributeProto

from qrewrite.engine.dtypes import NUMBERS
from qrewrite.engine.schemas.schema import AttributeSpec, Parameter, Schema

from .. import syntax
from ..syntax import Arity, Expr, ListOf, Literal, OpDeclaration
from .pack import op_key

ATTRIBUTE_KINDS: Mapping[str, int] = {
    "int": AttributeProto.INT,
    "float": AttributeProto.FLOAT,
    "string": AttributeProto.STRING,
    "tensor": AttributeProto.TENSOR,
    "ints": AttributeProto.INTS,
    "floats": AttributeProto.FLOATS,
    "strings": AttributeProto.STRINGS,
}
"""``onnx.AttributeProto.AttributeType`` by the name of a type in a declaration."""


def declared_schema(declaration: OpDeclaration) -> Schema:
    """The schema that a declaration describes; it holds at every version of the op's domain.

    An attribute without a default is required.
    """
    variables = {
        name: frozenset(NUMBERS[each] for each in types if each in NUMBERS)
        for name, types in declaration.type_variables
    }
    return Schema(
        op=op_key(declaration.op),
        since_version=1,
        inputs=tuple(_parameter(each, variables) for each in declaration.inputs),
        outputs=tuple(_parameter(each, variables) for each in declaration.outputs),
        attributes={each.name: _attribute(each) for each in declaration.attributes},
    )


def _parameter(written: syntax.Parameter, variables: Mapping[str, frozenset[int]]) -> Parameter:
    is_variable = written.type in variables
    number = NUMBERS.get(written.type)
    alone = frozenset() if number is None else frozenset({number})
    return Parameter(
        name=written.name,
        variable=written.type if is_variable else "",
        types=variables[written.type] if is_variable else alone,
        optional=written.arity is Arity.OPTIONAL,
        variadic=written.arity is Arity.REPEATED,
    )


def _attribute(written: syntax.AttributeDeclaration) -> AttributeSpec:
    default = None if written.default is None else literal_value(written.default)
    kind = ATTRIBUTE_KINDS.get(written.type, 0)
    if kind == AttributeProto.FLOAT and isinstance(default, int):
        default = float(default)
    return AttributeSpec(written.name, kind, written.default is None, default)


def literal_value(expression: Expr) -> object:
    """The value of a literal or a list of literals; None for what has to be computed."""
    match expression:
        case Literal(value):
            return value
        case ListOf(elements):
            return tuple(literal_value(each) for each in elements)
        case _:
            return None
