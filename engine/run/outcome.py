"""What a run did: the rewrites applied, and those that matched but were refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Applied(NamedTuple):
    """One rewrite."""

    rule: str
    pack: str
    node: str
    """Name of the node it was anchored at, before the rewrite."""
    op: str
    """Op of that node."""
    outputs: tuple[str, ...]
    """Names of the outputs of that node."""


@dataclass(slots=True)
class Outcome:
    """The result of `fixpoint.run`."""

    applied: list[Applied] = field(default_factory=list)
    """In the order in which they were done."""
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    """(`pack/rule`, reason) -> how often a match was refused; a match tried again counts again."""
    visits: int = 0
    """How often a matcher was called."""
