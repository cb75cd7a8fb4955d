"""Functions that match what repeats: one for the element, one that goes through all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..syntax import Quantifier
from .codegen import function_body
from .conditions import add_conditions
from .flat import Each, EachOperand, Flat, FlatChain, FlatNode, Role, Source
from .places import Places
from .steps import Step, Steps
from .traverse import Traversal


class Matching(Traversal):
    """Writes the steps of a pattern, with functions for what repeats in it."""

    def operands_that_repeat(self, each: Each) -> None:
        node = each.node
        assert node is not None
        place = self.places.at(node)
        first = next(
            position
            for position, operand in enumerate(node.operands)
            if isinstance(operand, EachOperand) and operand.each is each
        )
        behind = len(node.operands) - first - 1
        stride = len(each.variants[0].entries)
        end = f"{-behind if behind else ''}{f':{stride}' if stride > 1 else ''}"
        lists = [f"{place}I[{first + offset}:{end}]" for offset in range(stride)]
        self._go_through(each, lists, f"{place}e")

    def statement_that_repeats(self, each: Each) -> None:
        if each.source is Source.LISTS:
            lists = [self.places.at(value) for value in each.over]
            self._go_through(each, lists, f"{lists[0].partition('[')[0]}m")
        else:
            start = self.places.at(each.over[0])
            self._go_through(each, [f"consumers({start})"], f"{start}{each.quantifier.value[0]}")

    def chain_function(self, chain: FlatChain, way: str) -> str:
        """``f3(v, ...)`` without the closing part: the call but for its first argument."""
        arguments: dict[str, str] = {}
        element = self._element_function(chain.element, ["u"], arguments, None)
        call = f"{element}({', '.join(['u', *arguments.values()])})"
        body = (_UP if way == "up" else _DOWN).format(
            call=call,
            sole="" if chain.borrowed else "len(v.uses) == 1 and not v.is_output and ",
        )
        function = self.helpers.function(", ".join(["v", *arguments.values()]), body)
        return f"{function}({{}}{''.join(f', {text}' for text in arguments)})"

    def _go_through(self, each: Each, lists: Sequence[str], name: str) -> None:
        entries = [f"e{position}" for position in range(len(lists))]
        arguments: dict[str, str] = {}
        element = self._element_function(each.variants, entries, arguments, each)
        body = _loop(each.quantifier, element, entries, arguments)
        parameters = [f"l{position}" for position in range(len(lists))]
        function = self.helpers.function(", ".join([*parameters, *arguments.values()]), body)
        # Two rules that repeat different patterns at one place need two variables.
        call = f"{function}({', '.join([*lists, *arguments])})"
        found = self.steps.bind(f"{name}{function}", call)
        words = f"{each.quantifier.value} element is as written"
        self.steps.test(f"{found} is not None", each.span, words)
        if each.quantifier is not Quantifier.NO:
            self.places.rows[each] = found
            for position, slot in enumerate(each.slots):
                self.places.put(slot, f"{found}[{position}]")

    def _element_function(
        self,
        variants: Sequence[Flat],
        entries: Sequence[str],
        arguments: dict[str, str],
        each: Each | None,
    ) -> str:
        """A function from the entries to the row of an element; ``arguments`` is filled."""
        sequences: list[tuple[Sequence[Step], str]] = []
        for flat in variants:
            steps, places = Steps(), Places(self.places, arguments)
            inner = Matching(flat, self.helpers, steps, places)
            if flat.entry_node is not None:
                inner.from_node(flat.entry_node, entries[0])
            else:
                inner.from_values(list(zip(flat.entries, entries, strict=True)))
            add_conditions(flat, self.helpers, places, steps)
            sequences.append((steps.items, f"return {_row(flat, places, each)}"))
        body = function_body(sequences, "return None")
        return self.helpers.function(", ".join([*entries, *arguments.values()]), body)


def _row(flat: Flat, places: Places, each: Each | None) -> str:
    """What an element is found to be, in the order of the slots; last the nodes to be removed."""
    items = ["None" if thing is None else places.at(thing) for thing in flat.exports]
    if each is not None and each.removes:
        items.append(tuple_of(removed(flat, places)))
    return tuple_of(items)


def removed(flat: Flat, places: Places) -> list[str]:
    """The nodes of a pattern, but for those that repeat, that go when the rule fires."""
    return [places.at(node) for node in flat.nodes if node.role is not Role.BORROWED]


def tuple_of(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _loop(
    quantifier: Quantifier, element: str, entries: Sequence[str], arguments: Mapping[str, str]
) -> str:
    """The body of the function over all elements; None if it does not hold."""
    lists = ", ".join(f"l{position}" for position in range(len(entries)))
    source = lists if len(entries) == 1 else f"zip({lists}, strict=True)"
    call = f"{element}({', '.join([*entries, *arguments.values()])})"
    head = f" for {', '.join(entries)} in {source}:\n  row = {call}\n"
    match quantifier:
        case Quantifier.EACH:
            return f"{_EACH_HEAD}{head}{_EACH_TAIL}"
        case Quantifier.SOME:
            return f"{head}  if row is not None:\n   return row\n return None\n"
        case Quantifier.NO:
            return f"{head}  if row is not None:\n   return None\n return True\n"


_EACH_HEAD = " if not l0:\n  return None\n rows = None\n"
# The list of rows is made only once an element matches: a failure at the first costs no list.
_EACH_TAIL = """\
  if row is None:
   return None
  if rows is None:
   rows = [row]
  else:
   rows.append(row)
 return tuple(zip(*rows, strict=True))
"""
_UP = """\
 nodes = ()
 while {sole}(u := v.producer) is not None and u.outputs[0] is v:
  row = {call}
  if row is None:
   break
  nodes = (u, *nodes)
  v = row[0]
 return nodes, v
"""
_DOWN = """\
 nodes = ()
 while {sole}len(v.uses) == 1:
  u = next(iter(v.uses))
  row = {call}
  if row is None or row[0] is not v:
   break
  nodes = (*nodes, u)
  v = u.outputs[0]
 return nodes, v
"""


def nodes_of_chains(flat: Flat, places: Places) -> list[str]:
    """The lists of the nodes of the chains that are removed."""
    return [places.at(chain) for chain in flat.chains if not chain.borrowed]


__all__ = ["FlatNode", "Matching", "nodes_of_chains", "removed", "tuple_of"]
