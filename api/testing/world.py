"""A graph in the making: what is settled about each value and attribute of a structure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .structure import PatternNode, Slot, Structure

Array = NDArray[Any]

NUMPY: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "u8": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "u16": np.dtype(np.uint16),
    "i16": np.dtype(np.int16),
    "u32": np.dtype(np.uint32),
    "i32": np.dtype(np.int32),
    "u64": np.dtype(np.uint64),
    "i64": np.dtype(np.int64),
    "u4": np.dtype(ml_dtypes.uint4),
    "i4": np.dtype(ml_dtypes.int4),
    "u2": np.dtype(ml_dtypes.uint2),
    "i2": np.dtype(ml_dtypes.int2),
    "bool": np.dtype(np.bool_),
}
QUANTIZER_OPS = (
    "QuantizeLinear",
    "DequantizeLinear",
    "com.microsoft::QuantizeLinear",
    "com.microsoft::DequantizeLinear",
)


@dataclass
class World:
    """Everything settled so far."""

    structure: Structure
    opset: int = 0
    """0: not settled yet."""
    options: dict[str, object] = field(default_factory=dict)
    dtypes: dict[Slot, str] = field(default_factory=dict)
    shapes: dict[Slot, tuple[int, ...]] = field(default_factory=dict)
    contents: dict[Slot, Array] = field(default_factory=dict)
    """Initializers."""
    inputs: set[Slot] = field(default_factory=set)
    """Graph inputs of any content."""
    computed: set[Slot] = field(default_factory=set)
    """Made by a node outside of the pattern."""
    overridable: set[Slot] = field(default_factory=set)
    """Initializers that are graph inputs as well."""
    pinned: set[Slot] = field(default_factory=set)
    """Contents that are graph inputs, always fed with just that."""
    attributes: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By index of the node in the structure."""
    decided: set[tuple[int, str]] = field(default_factory=set)
    """Attributes that are settled, by index of the node: stated, or left out for good."""
    complete: bool = False
    """All attributes are settled."""

    def stated(self, node: PatternNode) -> dict[str, Any]:
        return self.attributes.setdefault(self._index(node), {})

    def decide(self, node: PatternNode, name: str, value: Any) -> None:
        """State an attribute, or, with None, leave it out."""
        self.decided.add((self._index(node), name))
        self.stated(node).pop(name, None)
        if value is not None:
            self.stated(node)[name] = value

    def is_decided(self, node: PatternNode, name: str) -> bool:
        return self.complete or (self._index(node), name) in self.decided

    def _index(self, node: PatternNode) -> int:
        return next(i for i, each in enumerate(self.structure.nodes) if each is node)

    def is_constant(self, slot: Slot) -> bool | None:
        """None: not settled yet."""
        if slot in self.contents:
            return slot not in self.overridable and slot not in self.pinned
        settled = (
            slot in self.inputs
            or slot in self.computed
            or self.structure.producer(slot) is not None
        )
        return False if settled else None


def is_quantizer(op: str) -> bool:
    return op in QUANTIZER_OPS


def limits(dtype: str) -> tuple[int, int]:
    """Least and largest code of an integer element type."""
    bits = int(dtype[1:])
    return (0, (1 << bits) - 1) if dtype[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def is_integer(dtype: str) -> bool:
    return dtype[0] in "ui" and dtype[1:].isdigit()
