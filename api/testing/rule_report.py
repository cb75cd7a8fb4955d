"""What the verification of a rule found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from .case import Case
from .claims import NONE, Distance
from .sessions import Arrays


class Verdict(Enum):
    HOLDS = "holds"
    COUNTEREXAMPLE = "counterexample"
    UNTESTED = "untested"


@dataclass(frozen=True)
class Counterexample:
    """A model on which the rule is wrong, as small as could be found."""

    case: Case
    inputs: Arrays
    problem: str


@dataclass
class Report:
    """Figures of one rule."""

    rule: str
    claim: str = ""
    meant: int = 0
    """Examples that were meant to match."""
    fired: int = 0
    misses: int = 0
    """Near misses."""
    misses_fired: int = 0
    """Near misses on which the rule fired all the same; the claim held there."""
    found: Distance = NONE
    kernels: Distance = NONE
    reached: Counter[str] = field(default_factory=Counter)
    """How often each choice and condition took part in a firing."""
    possible: set[str] = field(default_factory=set)
    """Every choice that the pattern leaves."""
    refused: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    counterexample: Counterexample | None = None
    least: int = 20
    """How often a choice must be reached."""
    seconds: float = 0.0

    @property
    def unreached(self) -> list[str]:
        return sorted(name for name in self.possible if self.reached[name] < self.least)

    @property
    def verdict(self) -> Verdict:
        if self.counterexample is not None:
            return Verdict.COUNTEREXAMPLE
        if 2 * self.fired < self.meant or not self.meant or self.unreached:
            return Verdict.UNTESTED
        return Verdict.HOLDS

    @property
    def reason(self) -> str:
        """Why the verdict is not *holds*; "" if it is."""
        if self.counterexample is not None:
            return self.counterexample.problem
        if not self.meant:
            return "no graph that the pattern matches could be made"
        if 2 * self.fired < self.meant:
            why = self.refused.most_common(1)
            return (
                f"fired in {self.fired} of {self.meant} examples{f' ({why[0][0]})' if why else ''}"
            )
        if self.unreached:
            shown = "; ".join(f"{name} ({self.reached[name]})" for name in self.unreached[:3])
            return f"reached fewer than {self.least} times: {shown}"
        return ""
