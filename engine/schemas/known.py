"""Operator schemas by op and opset version: of ONNX, com.microsoft and declared custom ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import onnx.defs
from onnx import AttributeProto

from .. import dtypes
from ..attributes import decode
from ..dtypes import UNKNOWN
from ..errors import Refused
from .microsoft import SIGNATURES
from .schema import AttributeSpec, Parameter, Schema
from .signatures import read_signatures
from .typecheck import free_type, output_types

__all__ = ["AttributeSpec", "Parameter", "Schema", "Schemas", "split_op"]

_MICROSOFT = "com.microsoft"
# `tensor(float8e4m3fn)` and so on: the names of TensorProto.DataType in lower case.
_TYPES = {
    f"tensor({onnx.TensorProto.DataType.Name(number).lower()})": number
    for number in dtypes.NUMBERS.values()
    if number in onnx.TensorProto.DataType.values()
}


def split_op(op: str) -> tuple[str, str]:
    """Domain ("" for ai.onnx) and op type of an op as in `Node.op`."""
    domain, found, name = op.rpartition("::")
    return (domain, name) if found else ("", op)


class Schemas:
    """Looks schemas up, converting each at most once. One of them belongs to each model."""

    def __init__(self, declared: Iterable[Schema] = ()) -> None:
        self._declared = {schema.op: schema for schema in declared}
        self._found: dict[tuple[str, int | None], Schema | None] = {}
        self._sources: dict[tuple[str, int, int], int | tuple[int, ...] | None] = {}
        self._typed: dict[tuple[str, int, tuple[int, ...], int], tuple[int, ...]] = {}

    def schema(self, op: str, version: int | None = None) -> Schema | None:
        """The schema in force at opset `version` of the op's domain (None: the newest there is).

        None if the op does not exist at that version, is deprecated there, or is not known.
        """
        key = (op, version)
        if key not in self._found:
            self._found[key] = self._look_up(op, version)
        return self._found[key]

    def default(self, op: str, version: int, attribute: str) -> Any:
        """The default of an attribute at an opset version; where the op does not have it there,
        that of the newest version. None if there is no default."""
        for schema in (self.schema(op, version), self.schema(op)):
            if schema is not None and attribute in schema.attributes:
                return schema.attributes[attribute].default
        return None

    def output_types(
        self,
        op: str,
        version: int,
        inputs: tuple[int, ...],
        outputs: int,
        attributes: Mapping[str, AttributeProto],
    ) -> tuple[int, ...]:
        """`typecheck.output_types` of an op, remembered; zeros for an op of a custom domain
        without schema. Raises Refused too if the op does not exist at that opset version."""
        free = free_type(op)
        plain = free is None or free.attribute not in attributes
        key = (op, version, inputs, outputs)
        found = self._typed.get(key) if plain else None
        if found is None:
            schema = self.schema(op, version)
            if schema is not None:
                found = output_types(schema, inputs, outputs, attributes)
            elif split_op(op)[0] in ("", _MICROSOFT):
                raise Refused(f"{op} is not known at opset {version}")
            else:
                found = (UNKNOWN,) * outputs
            if plain:
                self._typed[key] = found
        return found

    def type_source(self, op: str, version: int, output: int) -> int | tuple[int, ...] | None:
        """Where the element type of an output comes from: the one type that it can have, or the
        inputs of the same type variable; None if the schema is not known or does not say."""
        key = (op, version, output)
        if key not in self._sources:
            self._sources[key] = self._find_type_source(op, version, output)
        return self._sources[key]

    def _find_type_source(self, op: str, version: int, output: int) -> int | tuple[int, ...] | None:
        schema = self.schema(op, version)
        parameter = schema.output(output) if schema is not None else None
        if schema is None or parameter is None:
            return None
        if len(parameter.types) == 1:
            return next(iter(parameter.types))
        variable = parameter.variable
        if not variable:
            return None
        return tuple(i for i, formal in enumerate(schema.inputs) if formal.variable == variable)

    def ops(self) -> list[str]:
        """Every op known, as in `Node.op`, sorted."""
        stored = {
            entry.name if not entry.domain else f"{entry.domain}::{entry.name}"
            for entry in onnx.defs.get_all_schemas()
        }
        return sorted(stored | set(_microsoft_ops()) | set(self._declared))

    def _look_up(self, op: str, version: int | None) -> Schema | None:
        declared = self._declared.get(op)
        if declared is not None:
            return declared
        domain, name = split_op(op)
        if domain == _MICROSOFT:
            return _microsoft_ops().get(op)
        try:
            if version is None:
                stored = onnx.defs.get_schema(name, domain)
            else:
                stored = onnx.defs.get_schema(name, version, domain)
        except onnx.defs.SchemaError:
            return None
        return None if stored.deprecated else _convert(op, stored)


@cache
def _microsoft_ops() -> Mapping[str, Schema]:
    return {schema.op: schema for schema in read_signatures(SIGNATURES, _MICROSOFT)}


def _convert(op: str, stored: onnx.defs.OpSchema) -> Schema:
    variables = {item.type_param_str for item in stored.type_constraints}
    return Schema(
        op=op,
        since_version=stored.since_version,
        inputs=tuple(_parameter(item, variables) for item in stored.inputs),
        outputs=tuple(_parameter(item, variables) for item in stored.outputs),
        attributes={name: _attribute(item) for name, item in stored.attributes.items()},
    )


def _parameter(formal: onnx.defs.OpSchema.FormalParameter, variables: set[str]) -> Parameter:
    option = onnx.defs.OpSchema.FormalParameterOption
    variadic = formal.option == option.Variadic
    one_type = formal.type_str in variables and (formal.is_homogeneous or not variadic)
    return Parameter(
        name=formal.name,
        variable=formal.type_str if one_type else "",
        types=frozenset(_TYPES[name] for name in formal.types if name in _TYPES),
        optional=formal.option == option.Optional or (variadic and formal.min_arity == 0),
        variadic=variadic,
    )


def _attribute(item: onnx.defs.OpSchema.Attribute) -> AttributeSpec:
    stated = item.default_value
    default = decode(stated) if stated is not None and stated.type else None
    kind: Any = item.type  # an enum with the numbers of AttributeProto, unknown to the stubs
    return AttributeSpec(item.name, kind.value, item.required, default)
