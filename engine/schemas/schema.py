"""The schema of one op at one version, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """A formal input or output."""

    name: str
    variable: str
    """Parameters of one type variable have one element type; "" where the type stands alone."""
    types: frozenset[int]
    """Element types allowed; empty where any is, or where it is no tensor."""
    optional: bool = False
    variadic: bool = False
    """Only the last one: stands for one or more."""


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """A formal attribute."""

    name: str
    kind: int
    """`onnx.AttributeProto.AttributeType`."""
    required: bool = False
    default: Any = None
    """Decoded as by `attributes.decode`; None where there is no default."""


@dataclass(frozen=True, slots=True)
class Schema:
    """An op at one version."""

    op: str
    """As in `Node.op`: `Conv` or `com.microsoft::QLinearAdd`."""
    since_version: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: Mapping[str, AttributeSpec]

    def input(self, slot: int) -> Parameter | None:
        """The parameter for input `slot`, counting from 0; None if there are not that many."""
        return _parameter(self.inputs, slot)

    def output(self, slot: int) -> Parameter | None:
        """The same for an output."""
        return _parameter(self.outputs, slot)

    @property
    def min_inputs(self) -> int:
        """Number of inputs up to the last that must be present."""
        return _least(self.inputs)

    @property
    def max_inputs(self) -> int | None:
        """None if variadic."""
        return _most(self.inputs)

    @property
    def min_outputs(self) -> int:
        return _least(self.outputs)

    @property
    def max_outputs(self) -> int | None:
        return _most(self.outputs)


def _parameter(parameters: tuple[Parameter, ...], slot: int) -> Parameter | None:
    if slot < len(parameters):
        return parameters[slot]
    return parameters[-1] if parameters and parameters[-1].variadic else None


def _least(parameters: tuple[Parameter, ...]) -> int:
    required = [slot for slot, parameter in enumerate(parameters, 1) if not parameter.optional]
    return required[-1] if required else 0


def _most(parameters: tuple[Parameter, ...]) -> int | None:
    return None if parameters and parameters[-1].variadic else len(parameters)
