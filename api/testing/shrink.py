"""Makes a failing example smaller, by making its choices simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

Choices = tuple[int, ...]
BLOCKS = (32, 16, 8, 4, 2, 1)


@dataclass(frozen=True)
class Failing(Generic[T]):
    """An example that fails."""

    choices: Choices
    """How it was drawn: how far each choice is from the simplest."""
    size: int
    """What is to become small first."""
    example: T

    @property
    def cost(self) -> tuple[int, int, int, Choices]:
        return (self.size, len(self.choices), sum(self.choices), self.choices)


def shrink(
    failing: Failing[T], fails: Callable[[Choices], Failing[T] | None], go_on: Callable[[], bool]
) -> Failing[T]:
    """The least example found by simpler choices while `go_on()`.

    `fails`: the example that choices make, with the choices that it took; None if it is right.
    """
    tried: set[Choices] = set()
    best, improved = failing, True
    while improved:
        improved = False
        for propose in (_zeros, _deletions, _reductions):
            position = 0
            while go_on():
                candidate = next(
                    (c for c in propose(best.choices, position) if c[1] not in tried), None
                )
                if candidate is None:
                    break
                position, choices = candidate
                tried.add(choices)
                found = fails(choices)
                if found is not None and found.cost < best.cost:
                    best, improved = found, True
    return best


Proposals = Iterator[tuple[int, Choices]]
"""Places and simpler choices, from a place on."""


def _places(count: int, start: int) -> Iterator[tuple[int, int, int]]:
    """Number, begin and length of every block, long ones first, beginning with number `start`."""
    number = 0
    for length in BLOCKS:
        for begin in range(0, count, length):
            if number >= start:
                yield number, begin, length
            number += 1


def _zeros(choices: Choices, start: int) -> Proposals:
    for number, begin, length in _places(len(choices), start):
        block = choices[begin : begin + length]
        if any(block):
            yield number, (*choices[:begin], *(0 for _ in block), *choices[begin + length :])


def _deletions(choices: Choices, start: int) -> Proposals:
    for number, begin, length in _places(len(choices), start):
        yield number, (*choices[:begin], *choices[begin + length :])


def _reductions(choices: Choices, start: int) -> Proposals:
    for place in range(start, len(choices)):
        for lower in _lower(choices[place]):
            yield place, (*choices[:place], lower, *choices[place + 1 :])


def _lower(value: int) -> Sequence[int]:
    return sorted({value // 2, value - 1} - {-1, 0, value})
