"""Where a term of a template stands: what names mean there, and what is repeated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..diagnostics import failure
from ..syntax import Span
from .flat import Scope
from .lines import Lines
from .truth import Truth


@dataclass(frozen=True, slots=True)
class Made:
    """A name of a fragment that stands for a value that the template has built."""

    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a term of the template stands."""

    scope: Scope
    made: tuple[tuple[str, Made], ...] = ()

    def built(self, name: str) -> Made | None:
        return dict(self.made).get(name)


class Loop:
    """Lines that are repeated for every element of the lists that they read."""

    def __init__(self, lines: Lines, span: Span) -> None:
        self._lines = lines
        self._span = span

    def __enter__(self) -> Loop:
        if self._lines.in_loop:
            raise failure("what repeats cannot stand inside what repeats", self._span)
        self._lines.open()
        return self

    def close(self, writer: Truth) -> None:
        """Write the head of the loop, now that the lists are known."""
        lists = writer.lists
        if not lists:
            raise failure("nothing that is repeated here is a list", self._span)
        elements = f"{', '.join(lists.values())}"
        source = ", ".join(lists) if len(lists) == 1 else f"zip({', '.join(lists)}, strict=True)"
        self._lines.close(f"for {elements} in {source}:")
        writer.lists = {}

    def __exit__(self, *problem: object) -> None:
        pass


def number_array(value: int | float | tuple[int | float, ...]) -> NDArray[np.generic]:
    """Numbers of a template as a tensor: float32 if one is written with a point, else int64."""
    elements = value if isinstance(value, tuple) else (value,)
    is_float = any(isinstance(each, float) for each in elements)
    return np.asarray(value, np.float32 if is_float else np.int64)
