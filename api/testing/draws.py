"""Where choices come from: Hypothesis, so that examples shrink, or a plain generator, for speed."""

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
    """Numbers drawn by a seeded generator."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def pick(draw: Draw, choices: Sequence[T]) -> T:
    """One of them; the first is the simplest."""
    return choices[draw.integer(0, len(choices) - 1)]


def chance(draw: Draw, percent: int) -> bool:
    """True in so many percent; False is the simpler."""
    return draw.integer(0, 99) >= 100 - percent
