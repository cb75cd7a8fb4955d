"""What is known of one scalar: bounds, a finite choice, values that it does not have."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Range:
    """The values that a scalar may have; whole: only whole numbers."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    choices: frozenset[Scalar] | None = None
    excluded: frozenset[Scalar] = frozenset()
    whole: bool = False

    def compared(self, operator: str, value: Scalar) -> Range:
        """The part of the range for which ``scalar OPERATOR value`` holds."""
        if operator == "==":
            return self.among(frozenset({value}))
        if operator == "!=":
            return replace(self, excluded=self.excluded | {value})._tidy()
        if not isinstance(value, (int, float)):
            return self
        number = float(value)
        if operator in ("<", "<="):
            is_open = operator == "<"
            if number < self.high or (number == self.high and is_open):
                return replace(self, high=number, high_open=is_open)._tidy()
        elif number > self.low or (number == self.low and operator == ">"):
            return replace(self, low=number, low_open=operator == ">")._tidy()
        return self

    def among(self, values: frozenset[Scalar]) -> Range:
        choices = values if self.choices is None else self.choices & values
        return replace(self, choices=choices)._tidy()

    def outside(self, values: frozenset[Scalar]) -> Range:
        return replace(self, excluded=self.excluded | values)._tidy()

    def is_empty(self) -> bool:
        if self.choices is not None:
            return not self.choices
        if self.low == self.high:
            return self.low_open or self.high_open or self.low in self.excluded
        return self.low > self.high

    def _tidy(self) -> Range:
        """Choices outside the bounds go; bounds of whole numbers become whole and closed."""
        if self.choices is not None:
            left = frozenset(value for value in self.choices if self._holds(value))
            return replace(self, choices=left)
        if not self.whole:
            return self
        low, high = self.low, self.high
        if math.isfinite(low):
            low = math.floor(low) + 1 if self.low_open else math.ceil(low)
            while low in self.excluded:
                low += 1
        if math.isfinite(high):
            high = math.ceil(high) - 1 if self.high_open else math.floor(high)
            while high in self.excluded:
                high -= 1
        return replace(self, low=float(low), high=float(high), low_open=False, high_open=False)

    def _holds(self, value: Scalar) -> bool:
        if value in self.excluded:
            return False
        if isinstance(value, str):
            return not (math.isfinite(self.low) or math.isfinite(self.high))
        above = value > self.low or (value == self.low and not self.low_open)
        below = value < self.high or (value == self.high and not self.high_open)
        return above and below

    def words(self) -> str:
        """``13 or more``, ``one of 1, 2``: what is known, as messages say it."""
        if self.choices is not None:
            shown = sorted(
                f'"{each}"' if isinstance(each, str) else str(each) for each in self.choices
            )
            return shown[0] if len(shown) == 1 else f"one of {', '.join(shown)}"
        low, high = _number(self.low), _number(self.high)
        if self.low == self.high:
            return low
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"between {low} and {high}"
        if math.isfinite(self.low):
            return f"more than {low}" if self.low_open else f"{low} or more"
        if math.isfinite(self.high):
            return f"less than {high}" if self.high_open else f"{high} or less"
        return "not " + " or ".join(sorted(str(each) for each in self.excluded))


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)
