"""``compare codes of x``: a replacement is tried on every code of an input before it is made."""

from __future__ import annotations

from qrewrite.engine.errors import Refused
from qrewrite.engine.graph import Value
from qrewrite.engine.numerics.evaluate import compare_codes
from qrewrite.engine.protocols import Replacement

from ..syntax import Claim, WithinQuanta


def allowed_difference(claim: Claim | None) -> float:
    """By how many codes a rule with this claim may move an output."""
    return claim.quanta if isinstance(claim, WithinQuanta) else 0.0


def compared(replacement: Replacement, code: Value, allowed: float) -> Replacement:
    """The replacement, if no code of an 8-bit tensor moves an output by more than ``allowed``.

    Refused if it does, or if one side cannot be evaluated.
    """
    outputs = list(replacement.forward)
    for node in replacement.nodes:
        outputs += [
            (value, value)
            for value in node.outputs
            if value is not None and value.producer is not None
        ]
    difference = compare_codes(code, outputs, replacement.nodes)
    if difference is None:
        raise Refused(f"the two sides cannot be compared over the codes of {code.name!r}")
    if difference > allowed:
        raise Refused(f"an output moves by {difference:g} quanta over the codes of {code.name!r}")
    return replacement
