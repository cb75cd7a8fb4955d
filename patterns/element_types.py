"""Names of element types in rules, as ``u8``, and what ONNX calls them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ELEMENT_TYPES: Mapping[str, int] = MappingProxyType(
    {
        "f32": 1,
        "u8": 2,
        "i8": 3,
        "u16": 4,
        "i16": 5,
        "i32": 6,
        "i64": 7,
        "string": 8,
        "bool": 9,
        "f16": 10,
        "f64": 11,
        "u32": 12,
        "u64": 13,
        "bf16": 16,
        "f8e4m3fn": 17,
        "f8e4m3fnuz": 18,
        "f8e5m2": 19,
        "f8e5m2fnuz": 20,
        "u4": 21,
        "i4": 22,
        "f4e2m1": 23,
        "f8e8m0": 24,
        "u2": 25,
        "i2": 26,
    }
)
"""The value of each type in ``onnx.TensorProto.DataType``."""

SCHEMA_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "float": "f32",
        "uint8": "u8",
        "int8": "i8",
        "uint16": "u16",
        "int16": "i16",
        "int32": "i32",
        "int64": "i64",
        "string": "string",
        "bool": "bool",
        "float16": "f16",
        "double": "f64",
        "uint32": "u32",
        "uint64": "u64",
        "bfloat16": "bf16",
        "float8e4m3fn": "f8e4m3fn",
        "float8e4m3fnuz": "f8e4m3fnuz",
        "float8e5m2": "f8e5m2",
        "float8e5m2fnuz": "f8e5m2fnuz",
        "uint4": "u4",
        "int4": "i4",
        "float4e2m1": "f4e2m1",
        "float8e8m0": "f8e8m0",
        "uint2": "u2",
        "int2": "i2",
    }
)
"""The name in rules of each type inside ``tensor(...)`` in an ONNX schema."""

FLOAT_TYPES = frozenset({"f32", "f16", "f64", "bf16"})
