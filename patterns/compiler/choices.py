"""Going through every way to make a number of choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..diagnostics import failure
from ..syntax import Span

Choose = Callable[[int, Span], int]
"""One of so many ways, counted from 0; the first is the one that asks for most."""

T = TypeVar("T")


def every_choice(make: Callable[[Choose], T], limit: int, span: Span) -> list[T]:
    """What ``make`` makes of every series of choices, the first ones first.

    RuleFileError if there are more than ``limit``.
    """
    made: list[T] = []
    script: list[int] = []
    while True:
        taken: list[tuple[int, int]] = []
        made.append(make(_follow(script, taken)))
        if len(made) > limit:
            note = "split the rule, or use fewer `?`, `~` and `|`"
            raise failure(f"this stands for more than {limit} patterns", span, note)
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return made
        script = [index for index, _ in taken]
        script[-1] += 1


def _follow(script: list[int], taken: list[tuple[int, int]]) -> Choose:
    def choose(count: int, span: Span) -> int:
        index = script[len(taken)] if len(taken) < len(script) else 0
        taken.append((index, count))
        return index

    return choose
