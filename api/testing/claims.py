"""How far two results are apart, and what a rule claims about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrewrite.patterns.syntax import Claim, Exact, Lossy, WithinQuanta, WithinRelative

from .sessions import Array


@dataclass(frozen=True)
class Tolerance:
    """What is allowed: steps of an integer tensor, parts of a float one's magnitude."""

    quanta: float = 0
    share: float = 1.0
    relative: float = 0.0


LEAST_MAGNITUDE = 1e-33
"""Float results below are compared as if they were so large: a factor of theirs may be subnormal,
of which float32 keeps few digits."""


@dataclass(frozen=True)
class Distance:
    """How far a tensor is from what it should be."""

    quanta: float = 0
    """Largest difference of integers."""
    moved: int = 0
    """Elements that differ."""
    elements: int = 0
    relative: float = 0.0
    """Largest difference of floats, in parts of the largest magnitude expected."""
    wrong: str = ""
    """What makes the two incomparable: another type, shape or NaN."""

    def __add__(self, other: Distance) -> Distance:
        return Distance(
            max(self.quanta, other.quanta),
            self.moved + other.moved,
            self.elements + other.elements,
            max(self.relative, other.relative),
            self.wrong or other.wrong,
        )

    @property
    def share(self) -> float:
        return self.moved / self.elements if self.elements else 0.0


NONE = Distance()
"""Equal, or nothing compared."""


def tolerance(claim: Claim | None) -> Tolerance:
    """What a claim allows; no claim is taken for `exact`."""
    match claim:
        case WithinQuanta():
            return Tolerance(claim.quanta, claim.share, 1e-5)
        case WithinRelative():
            return Tolerance(0, 1.0, claim.tolerance)
        case Exact() | Lossy() | None:
            return Tolerance()


def distance(expected: Array, actual: Array) -> Distance:
    """How far `actual` is from `expected`."""
    if expected.dtype != actual.dtype:
        return Distance(wrong=f"{actual.dtype} instead of {expected.dtype}")
    if expected.shape != actual.shape:
        return Distance(wrong=f"shape {actual.shape} instead of {expected.shape}")
    if not expected.size:
        return Distance()
    if expected.dtype.kind == "f":
        return _float_distance(expected.astype(np.float64), actual.astype(np.float64))
    difference = np.abs(expected.astype(np.int64) - actual.astype(np.int64))
    moved = int(np.count_nonzero(difference))
    return Distance(float(difference.max()), moved, expected.size)


def _float_distance(expected: Array, actual: Array) -> Distance:
    same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    moved = int(np.count_nonzero(~same))
    if not moved:
        return Distance(elements=expected.size)
    if np.any(np.isfinite(expected) != np.isfinite(actual)):
        return Distance(
            moved=moved, elements=expected.size, wrong="NaN or infinity on one side only"
        )
    finite = np.isfinite(expected)
    scale = float(np.max(np.abs(expected[finite]), initial=LEAST_MAGNITUDE))
    gap = float(np.max(np.abs(expected[finite] - actual[finite]), initial=0.0))
    return Distance(moved=moved, elements=expected.size, relative=gap / scale)


def excess(found: Distance, allowed: Tolerance) -> str:
    """What is wrong with a distance, in words; "" if it is within the tolerance."""
    if found.wrong:
        return found.wrong
    if found.quanta > allowed.quanta:
        return (
            f"{found.quanta:g} quanta apart where {allowed.quanta:g} are allowed "
            f"({found.moved} of {found.elements} elements differ)"
        )
    if found.relative > allowed.relative:
        return f"{found.relative:.3g} relative apart where {allowed.relative:g} is allowed"
    if found.elements >= 256 and found.share > allowed.share:
        return f"{found.share:.1%} of the elements differ where {allowed.share:.0%} may"
    return ""
