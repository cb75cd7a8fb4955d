"""Where the nodes and values of a pattern are found: the text that reads each in generated code."""

from __future__ import annotations

from .flat import Each, FlatChain, FlatNode, FlatValue

Thing = FlatValue | FlatNode | FlatChain

ANCHOR = "n"
"""The node that a matcher is given."""


class Places:
    """Of a pattern, or of one that repeats inside it.

    A function for what repeats is given what it reads of the surroundings: ``arguments`` collects
    the text of each there, and the name of the parameter that holds it here.
    """

    def __init__(
        self, outer: Places | None = None, arguments: dict[str, str] | None = None
    ) -> None:
        self._outer = outer
        self.arguments: dict[str, str] = {} if arguments is None else arguments
        self._texts: dict[Thing, str] = {}
        self.rows: dict[Each, str] = {}
        """The lists of each repetition; the last of them holds the nodes that are removed."""

    def put(self, thing: Thing, text: str) -> None:
        self._texts[thing] = text

    def find(self, thing: Thing) -> str | None:
        found = self._texts.get(thing)
        if found is None and self._outer is not None:
            outside = self._outer.find(thing)
            if outside is not None:
                found = self._texts[thing] = self.argument(outside)
        return found

    def at(self, thing: Thing) -> str:
        found = self.find(thing)
        assert found is not None, thing
        return found

    def anchor(self) -> str:
        """A node of the graph in which the match is."""
        if self._outer is None:
            return ANCHOR
        return self.argument(self._outer.anchor())

    def argument(self, outside: str) -> str:
        """The parameter for something of the surroundings."""
        name = outside if outside.isidentifier() else f"a{len(self.arguments)}"
        return self.arguments.setdefault(outside, name)
