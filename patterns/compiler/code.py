"""Pieces of generated Python: a text, and what is known of its value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """What the value of a text is."""

    TYPE = "an element type's number, 0 where it is not known"
    INT = "an int, None where it is not known"
    BOOL = "True, False, or None where it is not known"
    VALUE = "a value of the graph"
    ZERO_POINT = "a zero point of the graph, None where it is absent"
    NODE = "a node"
    NODES = "a tuple of nodes"
    LITERAL = "a number, text or truth value written in the rule"
    TUPLE = "several expressions"
    LIST = "a list of the graph, not gone through"
    ANY = "a number, text, tuple, array or quantized tensor, None where it is not known"


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    kind: Kind
    value: Any = None
    """Of a literal."""
    elements: tuple[Code, ...] = ()
    """Of a tuple."""
    data: str = ""
    """Of a zero point: the tensor that has it, and its scale."""
    scale: str = ""


def literal(value: Any) -> Code:
    return Code(repr(value), Kind.LITERAL, value)


UNKNOWN = Code("None", Kind.ANY)


def is_simple(text: str) -> bool:
    """Whether evaluating a text again costs nothing."""
    return text.isidentifier() or text.lstrip("-").replace(".", "", 1).isdigit()
