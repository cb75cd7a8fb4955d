"""The attributes of a node of a template: passed on, overridden, dropped."""

from __future__ import annotations

from ..diagnostics import failure
from ..syntax import Apply, Attribute, DropAttribute, RestAttributes
from .flat import AttributeOf, AttributesOf, NotThere, Scope
from .helpers import Helpers
from .lines import Lines
from .making import Passed
from .references import binding_of
from .truth import Truth


class AttributeWriter:
    """Writes the dictionary of a node's attributes."""

    def __init__(self, writer: Truth, helpers: Helpers) -> None:
        self._writer = writer
        self._helpers = helpers

    def write(self, term: Apply, op: str, scope: Scope, lines: Lines) -> str:
        """The text of the dictionary; lines that fill it are added."""
        items = term.attributes or ()
        stated = [item for item in items if isinstance(item, Attribute)]
        rest = next((item for item in items if isinstance(item, RestAttributes)), None)
        start = "{}"
        if rest is not None and rest.capture is not None:
            named = {item.name for item in items if isinstance(item, Attribute | DropAttribute)}
            start = self._rest(rest, rest.capture, frozenset(named), op, scope)
        if not stated:
            return start
        name = lines.name()
        lines.add(f"{name} = {start}")
        for item in stated:
            lines.add(self._stated(item, name, op, scope))
        return name

    def _rest(
        self, rest: RestAttributes, capture: str, named: frozenset[str], op: str, scope: Scope
    ) -> str:
        found = scope.find(capture)
        if isinstance(found, NotThere):
            return "{}"
        if not isinstance(found, AttributesOf):
            raise failure(f'"{capture}" is not a set of attributes', rest.span)
        left_out = found.named | named
        passed = self._helpers.constant(f"passed {sorted(left_out)}", Passed(left_out))
        return f"{passed}({self._writer.at(found.node)}, {op})"

    def _stated(self, item: Attribute, name: str, op: str, scope: Scope) -> str:
        bound = binding_of(item.value, scope, self._writer.flat)
        # A part that its tensor lacks, as the axis of a per-tensor scale, is left out.
        optional = item.optional or (isinstance(bound, AttributeOf) and bound.part_of is not None)
        code = self._writer.plain(item.value, scope)
        return f"put({name}, {item.name!r}, {code}, {op}, graph.model, {optional})"
