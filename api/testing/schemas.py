"""Signatures of ops, for making nodes: from ONNX's own schemas and the table of com.microsoft."""

from __future__ import annotations

from functools import cache
from typing import Any

from qrewrite.engine import dtypes
from qrewrite.engine.schemas.known import Schemas
from qrewrite.engine.schemas.schema import Schema

from .world import NUMPY


@cache
def _schemas() -> Schemas:
    return Schemas()


@cache
def schema(op: str, opset: int) -> Schema | None:
    """The schema of an op at an opset of ai.onnx; contrib ops have one version."""
    return _schemas().schema(op, 1 if op.startswith("com.microsoft::") else opset)


def attribute_default(op: str, name: str, opset: int) -> Any:
    """The default of an attribute; None where it has none."""
    found = schema(op, opset)
    spec = found.attributes.get(name) if found else None
    if spec is None:
        newest = schema(op, 25)
        spec = newest.attributes.get(name) if newest else None
    return None if spec is None else spec.default


@cache
def allowed_types(op: str, opset: int, slot: int, output: bool) -> tuple[str, tuple[str, ...]]:
    """Type variable and element types of an input or output, of those that are made here."""
    found = schema(op, opset)
    if found is None:
        return "", ()
    parameter = found.output(slot) if output else found.input(slot)
    if parameter is None:
        return "", ()
    names = tuple(dtypes.short_name(number) for number in parameter.types) or tuple(NUMPY)
    variadic = "" if parameter.variadic and not parameter.variable else parameter.variable
    return variadic, tuple(name for name in NUMPY if name in names)
