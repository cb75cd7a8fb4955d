"""Names for new values and nodes: unique over the whole model, derived from a hint."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .graph import Model


class Names:
    """The names in use in a model and its bodies, read when the first new name is asked for."""

    __slots__ = ("_journal", "_model", "_nodes", "_repeated", "_values")

    def __init__(self, model: Model) -> None:
        self._model = model
        # Name in use -> the first suffix to try when it is wanted again.
        self._values: dict[str, int] = {}
        self._nodes: dict[str, int] = {}
        self._repeated: set[str] = set()
        self._journal: list[tuple[dict[str, int], str, str, int]] = []

    def fresh_value(self, hint: str) -> str:
        """`hint`, or `hint_1`, `hint_2`, … where that is taken by another value."""
        if not self._values:
            self._read_values()
        return self._fresh(self._values, hint or "value")

    def fresh_node(self, hint: str) -> str:
        """The same for names of nodes."""
        if not self._nodes:
            self._read_nodes()
        return self._fresh(self._nodes, hint or "node")

    def inherited(self, name: str) -> str:
        """The name for the node that replaces the one called `name`: the same, if it is unique."""
        if not self._nodes:
            self._read_nodes()
        return name if name and name not in self._repeated else self.fresh_node(name)

    def mark(self) -> int:
        """A point to return to by `release`."""
        return len(self._journal)

    def release(self, mark: int) -> None:
        """Give up every name made since `mark`."""
        while len(self._journal) > mark:
            taken, name, hint, suffix = self._journal.pop()
            del taken[name]
            if name != hint:
                taken[hint] = suffix

    def _fresh(self, taken: dict[str, int], hint: str) -> str:
        first = suffix = taken.get(hint, 0)
        name = hint
        while name in taken:
            suffix += 1
            name = f"{hint}_{suffix}"
        if name != hint:
            taken[hint] = suffix
        taken[name] = 0
        self._journal.append((taken, name, hint, first))
        return name

    def _read_values(self) -> None:
        for graph in self._model.graphs:
            self._values.update(dict.fromkeys(graph.values, 0))
        self._values[""] = 0

    def _read_nodes(self) -> None:
        names = [node.name for graph in self._model.graphs for node in graph.node_list]
        self._nodes = dict.fromkeys(names, 0)
        if len(self._nodes) < len(names):
            counts = Counter(names)
            self._repeated = {name for name, count in counts.items() if count > 1}
        self._nodes[""] = 0
