"""What a function is that rules can call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Accepts(Enum):
    """What a function is given for an argument."""

    VALUE = "value"
    """The captured value itself, constant or not, or a computed tensor."""
    TENSOR = "tensor"
    """A constant's content."""
    SCALE = "scale"
    """The scale of a quantized tensor, constant or not."""
    QUANTIZED = "quantized tensor"
    """Codes, scale, zero point and axis."""
    TYPE = "element type"
    NUMBER = "number"
    TEXT = "text"
    LIST = "list"
    """A list of numbers or of tensors, as a whole."""


class Result(Enum):
    BOOL = "true or false"
    NUMBER = "number"
    TENSOR = "tensor"
    QUANTIZED = "quantized tensor"
    TYPE = "element type"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    accepts: Accepts
    required: bool = True
    default: Any = None
    repeated: bool = False
    """Takes one argument or more; the last of a function."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the rule language.

    ``call`` gets the arguments as ``Accepts`` says.  It is not called where one of them is not
    known, and returns None for a result that is not known, or where there is none.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Result
    doc: str
    call: Callable[..., Any]

    @property
    def kind(self) -> str:
        """``guard`` for a condition, ``value`` for everything else."""
        return "guard" if self.result is Result.BOOL else "value"

    @property
    def signature(self) -> str:
        """``close(a, b, rtol = 1e-06)``."""
        return f"{self.name}({', '.join(_shown(each) for each in self.parameters)})"


def _shown(parameter: Parameter) -> str:
    if parameter.repeated:
        return f"{parameter.name}, ..."
    if parameter.required:
        return parameter.name
    default = "none" if parameter.default is None else parameter.default
    return f"{parameter.name} = {default}"


def value(name: str) -> Parameter:
    return Parameter(name, Accepts.VALUE)


def tensor(name: str) -> Parameter:
    return Parameter(name, Accepts.TENSOR)


def quantized(name: str) -> Parameter:
    return Parameter(name, Accepts.QUANTIZED)


def element_type(name: str) -> Parameter:
    return Parameter(name, Accepts.TYPE)


def number(name: str) -> Parameter:
    return Parameter(name, Accepts.NUMBER)


def optional_number(name: str, default: Any = None) -> Parameter:
    return Parameter(name, Accepts.NUMBER, required=False, default=default)
