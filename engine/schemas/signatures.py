"""Reads op signatures: `Op<alpha: float = 0.01>(x: T, z: T?) -> y: T where T in {u8, i8}`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from onnx import AttributeProto

from .. import dtypes
from .schema import AttributeSpec, Parameter, Schema

_ATTRIBUTE_KINDS = {
    "int": AttributeProto.INT,
    "float": AttributeProto.FLOAT,
    "string": AttributeProto.STRING,
    "tensor": AttributeProto.TENSOR,
    "ints": AttributeProto.INTS,
    "floats": AttributeProto.FLOATS,
    "strings": AttributeProto.STRINGS,
}
_SIGNATURE = re.compile(
    r"(?P<name>\w+)(?:<(?P<attributes>[^>]*)>)?\((?P<inputs>[^)]*)\) -> (?P<outputs>.*?)"
    r"(?: where (?P<variables>.*))?"
)
_ATTRIBUTE = re.compile(r"(\w+): (\w+)(\?)?(?: = ([^,]+))?(?:, |$)")
_PARAMETER = re.compile(r"(\w+): (\w+|\{[^}]*\})(\?|\.\.\.)?(?:, |$)")
_VARIABLE = re.compile(r"(\w+) in (\{[^}]*\})(?:, |$)")


def read_signatures(text: str, domain: str) -> Iterator[Schema]:
    """The schemas (version 1) of a table: one signature each, its continuation lines indented."""
    for block in re.split(r"\n(?=\w)", text.strip()):
        yield _read(" ".join(block.split()), domain)


def _read(line: str, domain: str) -> Schema:
    match = _SIGNATURE.fullmatch(line)
    if match is None:
        raise ValueError(f"not a signature: {line}")
    variables = {name: _types(types) for name, types in _VARIABLE.findall(match["variables"] or "")}
    return Schema(
        op=f"{domain}::{match['name']}",
        since_version=1,
        inputs=tuple(_parameters(match["inputs"], variables)),
        outputs=tuple(_parameters(match["outputs"], variables)),
        attributes={spec.name: spec for spec in _attributes(match["attributes"] or "")},
    )


def _types(text: str) -> frozenset[int]:
    return frozenset(dtypes.NUMBERS[name] for name in text.strip("{}").split(", "))


def _parameters(text: str, variables: dict[str, frozenset[int]]) -> Iterator[Parameter]:
    for name, kind, mark in _PARAMETER.findall(text):
        variable = kind if kind in variables else ""
        types = variables[kind] if variable else _types(kind)
        yield Parameter(name, variable, types, optional=mark == "?", variadic=mark == "...")


def _attributes(text: str) -> Iterator[AttributeSpec]:
    for name, kind, optional, default in _ATTRIBUTE.findall(text):
        value: Any = ast.literal_eval(default) if default else None
        required = not optional and value is None
        yield AttributeSpec(name, _ATTRIBUTE_KINDS[kind], required, value)
