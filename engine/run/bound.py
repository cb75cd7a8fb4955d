"""A bound on the number of rewrites, and the names of the rules that keep feeding each other."""

from __future__ import annotations

from collections import deque

from ..edits.change import Change
from ..errors import CycleError
from ..protocols import Rule, full_name

_PER_NODE = 8
_AT_LEAST = 1000
_WINDOW = 400
"""The last rewrites, from which the rules that form a cycle are read."""


class Bound:
    """Counts rewrites. Real packs stay below two a node; a run that passes eight does not end."""

    def __init__(self, nodes: int) -> None:
        self._left = _AT_LEAST + _PER_NODE * nodes
        self._limit = self._left
        self._recent: deque[tuple[str, tuple[str, ...]]] = deque(maxlen=_WINDOW)

    def count(self, rule: Rule, change: Change) -> None:
        """Note a rewrite; CycleError if there have been too many."""
        self._left -= 1
        if self._left > _WINDOW:
            return
        made = tuple(node.rule for node in change.removed if node.rule)
        self._recent.append((full_name(rule), made))
        if self._left < 0:
            raise CycleError(self._message())

    def _message(self) -> str:
        names = self._cycle()
        if len(names) == 1:
            return (
                f"rule {names[0]} feeds itself without end (stopped after {self._limit} rewrites)"
            )
        listed = ", ".join(names[:-1]) + f" and {names[-1]}"
        return f"rules {listed} feed each other without end (stopped after {self._limit} rewrites)"

    def _cycle(self) -> list[str]:
        """The rules of the last rewrites whose results were rewritten again, else all of them."""
        names = sorted({name for name, _ in self._recent})
        fed = {source for _, made in self._recent for rules in made for source in rules.split()}
        return [name for name in names if name in fed] or names
