"""Element types of a node's outputs from those of its inputs, as its schema relates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import AttributeProto

from .. import dtypes
from ..errors import Refused
from .schema import Parameter, Schema

ABSENT = -1
"""In place of the element type of an input that is not there; 0 is a type that is not known."""


@dataclass(frozen=True, slots=True)
class FreeType:
    """How an output gets its type where no input has the type variable of the output."""

    attribute: str
    """The attribute that states it (an int, or a tensor whose type counts); "" if there is none."""
    default: int
    like_input: int | None = None
    """Without the attribute: the type of this input, else `default`."""


_U8, _I32, _F32 = dtypes.NUMBERS["u8"], dtypes.NUMBERS["i32"], dtypes.NUMBERS["f32"]
_FREE: dict[str, FreeType] = {
    "Bernoulli": FreeType("dtype", 0, like_input=0),
    "BlackmanWindow": FreeType("output_datatype", _F32),
    "Cast": FreeType("to", 0),
    "Constant": FreeType("value", 0),
    "ConstantOfShape": FreeType("value", _F32),
    "DequantizeLinear": FreeType("output_dtype", 0, like_input=1),
    "EyeLike": FreeType("dtype", 0, like_input=0),
    "HammingWindow": FreeType("output_datatype", _F32),
    "HannWindow": FreeType("output_datatype", _F32),
    "Multinomial": FreeType("dtype", _I32),
    "QuantizeLinear": FreeType("output_dtype", _U8),
    "RandomNormal": FreeType("dtype", _F32),
    "RandomNormalLike": FreeType("dtype", 0, like_input=0),
    "RandomUniform": FreeType("dtype", _F32),
    "RandomUniformLike": FreeType("dtype", 0, like_input=0),
    "com.microsoft::QGemm": FreeType("", _F32),
    "com.microsoft::QuantizeLinear": FreeType("", _U8),
}


def free_type(op: str) -> FreeType | None:
    """The entry of an op some output of which may have a type that inputs do not give."""
    return _FREE.get(op)


def stated_type(free: FreeType, attributes: Mapping[str, AttributeProto]) -> int:
    """The type that the attribute states; 0 if it is absent or 0."""
    proto = attributes.get(free.attribute)
    if proto is None:
        return dtypes.UNKNOWN
    return int(proto.t.data_type if proto.type == AttributeProto.TENSOR else proto.i)


def output_types(
    schema: Schema,
    inputs: Sequence[int],
    outputs: int,
    attributes: Mapping[str, AttributeProto],
) -> tuple[int, ...]:
    """Element types of the first `outputs` outputs, 0 where not known.

    `inputs` are element types, with ABSENT and 0 as above. Raises Refused if a known type or the
    number of inputs or outputs does not fit the schema.
    """
    bound = _bind_inputs(schema, inputs)
    found: list[int] = []
    for slot in range(outputs):
        parameter = schema.output(slot)
        if parameter is None:
            raise Refused(f"{schema.op} has no output number {slot + 1}")
        found.append(_output_type(schema.op, parameter, bound, inputs, attributes))
    return tuple(found)


def _bind_inputs(schema: Schema, inputs: Sequence[int]) -> dict[str, int]:
    """Type variable -> element type, from the inputs whose type is known."""
    bound: dict[str, int] = {}
    for slot, dtype in enumerate(inputs):
        parameter = schema.input(slot)
        if parameter is None:
            raise Refused(f"{schema.op} takes {schema.max_inputs} inputs, not {len(inputs)}")
        if dtype == ABSENT:
            if not parameter.optional:
                raise Refused(f"input {parameter.name} of {schema.op} is missing")
        elif dtype:
            _bind(schema.op, parameter, dtype, bound)
    if len(inputs) < schema.min_inputs:
        raise Refused(f"input {schema.inputs[len(inputs)].name} of {schema.op} is missing")
    return bound


def _bind(op: str, parameter: Parameter, dtype: int, bound: dict[str, int]) -> None:
    if parameter.types and dtype not in parameter.types:
        raise Refused(f"input {parameter.name} of {op} cannot be {dtypes.short_name(dtype)}")
    variable = parameter.variable
    if variable and bound.setdefault(variable, dtype) != dtype:
        raise Refused(
            f"input {parameter.name} of {op} is {dtypes.short_name(dtype)}, "
            f"but must be {dtypes.short_name(bound[variable])} like the others of type {variable}"
        )


def _output_type(
    op: str,
    parameter: Parameter,
    bound: dict[str, int],
    inputs: Sequence[int],
    attributes: Mapping[str, AttributeProto],
) -> int:
    if len(parameter.types) == 1:
        return next(iter(parameter.types))
    known = bound.get(parameter.variable, dtypes.UNKNOWN)
    if known:
        return known
    free = _FREE.get(op)
    if free is None or not parameter.variable:
        return dtypes.UNKNOWN
    stated = stated_type(free, attributes)
    if stated:
        return stated
    if free.like_input is not None and free.like_input < len(inputs):
        return max(inputs[free.like_input], dtypes.UNKNOWN)
    return free.default
