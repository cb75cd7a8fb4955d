"""What a name of a template means in the graph that its pattern stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qrewrite.patterns.syntax import Call, Expr, Let, Name, Rule

from .structure import Slot

MADE_TYPES = {
    "quantize_weight": "i8",
    "quantize_bias": "i32",
    "requantize_exactly": "i32",
}
"""Element types of what functions make."""


@dataclass(frozen=True)
class Meaning:
    """A value of the graph, or one made of it."""

    slot: Slot | None = None
    dtype: str | None = None
    """Where it is not that of the slot."""
    regridded: bool = False
    """It has another scale and zero point than the slot."""


Meanings = Mapping[str, Meaning]


def meanings_of(rule: Rule, captured: Meanings) -> Meanings:
    """The names of a rule: what it captures, and what its `let` makes of it."""
    found = dict(captured)
    for clause in rule.clauses:
        if isinstance(clause, Let):
            for name, expression in clause.bindings:
                found[name] = _made(expression, found)
    return found


def _made(expression: Expr, known: Meanings) -> Meaning:
    if not isinstance(expression, Call) or not expression.arguments:
        return Meaning()
    first = expression.arguments[0]
    source = known.get(first.id, Meaning()) if isinstance(first, Name) else Meaning()
    match expression.function:
        case "recode":
            return Meaning(source.slot, _type_name(expression.arguments[1]))
        case "cast":
            return Meaning(None, _type_name(expression.arguments[1]))
        case "quantized":
            return Meaning(source.slot, source.dtype, regridded=True)
        case function if function in MADE_TYPES:
            return Meaning(source.slot, MADE_TYPES[function], regridded=True)
        case _:
            return Meaning()


def _type_name(expression: Expr) -> str | None:
    return expression.id if isinstance(expression, Name) else None
