"""Where choices come from: Hypothesis, a seeded generator, or choices made before."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

T = TypeVar("T")


class Draw(Protocol):
    """Draws numbers; every choice is made so that the least number is the simplest."""

    def integer(self, low: int, high: int) -> int:
        """A number of low..high, both included."""


class HypothesisDraw:
    """Numbers drawn by Hypothesis."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        from hypothesis.strategies import integers

        return self._draw(integers(low, high)) if low < high else low


class RandomDraw:
    """Numbers drawn by a seeded generator.

    `taken` records how far above the least number each choice was: `ReplayedDraw` makes them again.
    """

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)
        self.taken: list[int] = []

    def integer(self, low: int, high: int) -> int:
        drawn = self._random.randint(low, high)
        self.taken.append(drawn - low)
        return drawn


class ReplayedDraw:
    """Choices made before; the simplest one where there are no more.  `taken`: as they fitted."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = iter(choices)
        self.taken: list[int] = []

    def integer(self, low: int, high: int) -> int:
        above = min(next(self._choices, 0), high - low)
        self.taken.append(above)
        return low + above


def pick(draw: Draw, choices: Sequence[T]) -> T:
    """One of them; the first is the simplest."""
    return choices[draw.integer(0, len(choices) - 1)]


def chance(draw: Draw, percent: int) -> bool:
    """True in so many percent; False is the simpler."""
    return draw.integer(0, 99) >= 100 - percent
