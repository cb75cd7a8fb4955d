"""A follower's pattern on its way along a template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qrewrite.patterns.packs.pack import Pack, op_key
from qrewrite.patterns.syntax import (
    Apply,
    Arity,
    Assign,
    Attribute,
    Call,
    Capture,
    Compare,
    Expr,
    Field,
    Literal,
    Name,
    Presence,
    Rest,
    RestAttributes,
    Term,
)

from .draws import Draw, chance
from .expand_pattern import Frame, Unsatisfiable, grow
from .expressions import names_of, substitute, walk
from .meaning import Meaning, Meanings
from .structure import PatternNode, Slot, Structure
from .world import NUMPY, is_quantizer

RESERVED = frozenset({"options", "opset", *NUMPY})
GRID_FUNCTIONS = frozenset({"per_tensor", "per_axis", "same_grid", "abs", "min", "max", "fits"})
INNER = "?inner"
"""The result of the template, where a node of the follower stands around it."""


@dataclass(frozen=True)
class Place:
    """Where the follower's outermost node is."""

    theirs: Assign
    ours: Assign
    at: Apply
    """A node of the template."""
    around: bool = False
    """The follower's outermost node is around the template's result; its first operand is `at`."""


class Meeting:
    """Names of the follower as they come to mean values of the graph."""

    def __init__(self, pack: Pack, structure: Structure, draw: Draw, known: Meanings) -> None:
        self.pack = pack
        self.structure = structure
        self.draw = draw
        self.known = known
        self.frame = Frame(parent=Frame())
        self.types: dict[str, str] = {}
        self.regridded: set[str] = set()
        self.attributes: dict[str, Expr] = {}
        self.asked: list[Expr] = []
        """What the follower's pattern itself asks of attributes."""
        self.result = ""

    @property
    def bound(self) -> Meanings:
        names = {name for name, slot in self.frame.bound.items() if slot is not None}
        return {
            name: Meaning(self.frame.bound.get(name), self.types.get(name), name in self.regridded)
            for name in names | set(self.types)
        }

    def slot(self, ours: str) -> Slot | None:
        return self.known.get(ours, Meaning()).slot

    def bind(self, theirs: str, slot: Slot) -> None:
        self.frame.bound.setdefault(theirs, slot)

    def name(self, theirs: str, ours: str) -> None:
        meaning = self.known.get(ours, Meaning())
        if meaning.slot is not None:
            self.bind(theirs, meaning.slot)
        if meaning.dtype is not None:
            self.types.setdefault(theirs, meaning.dtype)
        if meaning.regridded:
            self.regridded.add(theirs)

    # ---- places

    def place(self, theirs: Assign, ours: Assign) -> Place | None:
        """At the template's outermost node, around it, or at a node inside."""
        assert isinstance(theirs.term, Apply) and isinstance(ours.term, Apply)
        if self.fits(theirs.term, ours.term):
            return Place(theirs, ours, ours.term)
        inside = theirs.term.operands[0] if theirs.term.operands else None
        if isinstance(inside, Apply) and self.fits(inside, ours.term):
            return Place(theirs, ours, ours.term, around=True)
        found = next((t for t in applied(ours.term) if self.fits(theirs.term, t)), None)
        return Place(theirs, ours, found) if found is not None else None

    def fits(self, theirs: Apply, ours: Apply) -> bool:
        """They may be one node, and so may the nodes that are their operands."""
        fragment = self.pack.fragments.get(theirs.op.name)
        if fragment is not None and ours.op.name != theirs.op.name:
            inside = self._alternative(theirs, ours)
            if inside is None:
                return False
            pairs = zip(self._arguments(theirs, inside), ours.operands, strict=False)
        elif fragment is None and self.op(ours) not in self._ops(theirs):
            return False
        else:
            pairs = zip(theirs.operands, ours.operands, strict=False)
        return all(
            self.fits(left, right)
            for left, right in pairs
            if isinstance(left, Apply) and isinstance(right, Apply)
        )

    def op(self, ours: Apply) -> str:
        labelled = self.structure.labels.get(ours.op.name)
        return labelled[0].op if labelled else op_key(ours.op)

    def _ops(self, theirs: Apply) -> Sequence[str]:
        members = self.pack.op_sets.get(theirs.op.name)
        return [op_key(theirs.op)] if members is None else [op_key(each) for each in members.ops]

    def _alternative(self, theirs: Apply, ours: Apply) -> Apply | None:
        """The alternative of a fragment whose node can be ours."""
        for each in self.pack.fragments[theirs.op.name].alternatives:
            if isinstance(each.term, Apply) and op_key(each.term.op) == self.op(ours):
                return each.term
        return None

    def _arguments(self, theirs: Apply, inside: Apply) -> Iterator[Term]:
        """The operands of a fragment's node, with those of the call for its parameters."""
        parameters = self.pack.fragments[theirs.op.name].parameters
        for each in inside.operands:
            named = isinstance(each, Capture) and each.part is None and each.name in parameters
            yield theirs.operands[parameters.index(each.name)] if named else each  # type: ignore[union-attr]  # named: a Capture

    # ---- terms

    def begin(self, place: Place) -> None:
        """Bind the results of the follower's outermost node."""
        if place.at is place.ours.term and len(place.theirs.targets) == len(place.ours.targets):
            for left, right in zip(place.theirs.targets, place.ours.targets, strict=True):
                self.name(left.name, right.name)
        elif (node := self._node(place.at)) is not None:
            self.bind(place.theirs.targets[0].name, node.outputs[0])
        self.result = place.theirs.targets[0].name

    def meet(self, theirs: Term, ours: Term) -> None:
        if isinstance(theirs, Capture) and isinstance(ours, Capture):
            if theirs.part is None and ours.part is None:
                self.name(theirs.name, ours.name)
        elif isinstance(theirs, Apply) and isinstance(ours, Capture) and ours.part is None:
            self._grow(theirs, ours.name)
        elif isinstance(theirs, Apply) and isinstance(ours, Apply):
            if theirs.op.name in self.pack.fragments and theirs.op.name != ours.op.name:
                self._opened(theirs, ours)
                return
            node = self._node(ours)
            self._attributes(theirs, ours, node)
            for left, right in zip(theirs.operands, ours.operands, strict=False):
                if not isinstance(left, Rest) and not isinstance(right, Rest):
                    self.meet(left, right)
            if node is not None and ours.operands and isinstance(ours.operands[-1], Rest):
                self._rest(theirs.operands[len(ours.operands) - 1 :], node)

    def _opened(self, theirs: Apply, ours: Apply) -> None:
        """A fragment of the follower against a plain node of the template."""
        inside = self._alternative(theirs, ours)
        if inside is None:
            return
        fragment = self.pack.fragments[theirs.op.name]
        whose = {fragment.result: self.result}
        for parameter, operand in zip(fragment.parameters, theirs.operands, strict=False):
            if isinstance(operand, Capture):
                whose[parameter] = operand.name
        for left, right in zip(inside.operands, ours.operands, strict=False):
            if not isinstance(left, Capture):
                continue
            if left.part is None and left.name in fragment.parameters:
                self.meet(theirs.operands[fragment.parameters.index(left.name)], right)
            elif left.name in whose and isinstance(right, Capture):
                self._part(whose[left.name], left.part, right)

    def _part(self, theirs: str, part: str | None, ours: Capture) -> None:
        """A part of a quantized tensor that the template has made of parts."""
        if ours.part is not None:
            self.name(theirs, ours.name)
        dtype = self.known.get(ours.name, Meaning()).dtype
        if part == "zero_point" and ours.part is None and dtype is not None:
            self.types[theirs] = dtype

    def _node(self, ours: Apply) -> PatternNode | None:
        """The node of the graph whose place a node of the template takes."""
        op, rest = self.op(ours), ours.operands[-1] if ours.operands else None
        for node in self.structure.nodes:
            if node.op == op and (not isinstance(rest, Rest) or node.rest == rest.capture):
                return node
        return None

    # ---- further nodes

    def _grow(self, theirs: Apply, ours: str) -> None:
        slot = self.slot(ours)
        free = slot is not None and self.structure.producer(slot) is None
        if slot is None or not free or theirs.presence is not Presence.ONCE:
            return
        try:
            grow(self.pack, self.structure, self.draw, theirs, self.frame, slot)
        except Unsatisfiable:
            return

    def stand_around(self, place: Place) -> None:
        """The follower's outermost node around the result of the template: one there is, or new."""
        theirs, target = place.theirs.term, place.theirs.targets[0].name
        slot = self.slot(place.ours.targets[0].name)
        if slot is None or not isinstance(theirs, Apply):
            return
        there = next((n for n in self.structure.consumers(slot) if is_quantizer(n.op)), None)
        if there is not None:
            self.bind(target, there.outputs[0])
            return
        self.frame.bound[INNER] = slot
        first = Capture(INNER, None, Arity.ONE, theirs.span)
        around = replace(theirs, operands=(first, *theirs.operands[1:]))
        made = self.structure.fresh()
        grow(self.pack, self.structure, self.draw, around, self.frame, made)
        self.bind(target, made)
        self.structure.hidden.add(slot)
        self.structure.lone.add(slot)

    def _rest(self, wanted: Sequence[Term], node: PatternNode) -> None:
        """The operands that the follower names where the rule takes any."""
        if node.rest is None or any(isinstance(each, Rest) for each in wanted):
            return
        slots = self.structure.captures.setdefault(node.rest, [])
        self.structure.lists.add(node.rest)
        for term in wanted:
            if not isinstance(term, (Apply, Capture)):
                break
            if term.arity is Arity.OPTIONAL and chance(self.draw, 50):
                break
            slot = f"{node.rest}#{len(slots)}"
            if isinstance(term, Apply):
                grow(self.pack, self.structure, self.draw, _once(term), self.frame, slot)
            else:
                self.bind(term.name, slot)
            slots.append(slot)
            node.inputs.append(slot)
        node.rest = None

    # ---- conditions

    def _attributes(self, theirs: Apply, ours: Apply, node: PatternNode | None) -> None:
        stated = {a.name: a.value for a in ours.attributes or () if isinstance(a, Attribute)}
        passed = any(isinstance(item, RestAttributes) for item in ours.attributes or ())
        for item in theirs.attributes or ():
            if not isinstance(item, Attribute):
                continue
            value = stated.get(item.name)
            if value is None and passed and node is not None:
                value = self._attribute_of(node, item)
            if value is None:
                continue
            if isinstance(item.value, Name) and item.value.id != "none":
                self.attributes.setdefault(item.value.id, value)
            elif isinstance(item.value, Literal):
                self.asked.append(Compare(value, (("==", item.value),), item.value.span))

    def _attribute_of(self, node: PatternNode, item: Attribute) -> Expr:
        if node.label is None:
            node.label = f"?{node.outputs[0]}"
            self.structure.labels[node.label] = [node]
        return Field(Name(node.label, item.value.span), item.name, item.value.span)

    def renamed(self, condition: Expr) -> Expr:
        """In names of slots; what did not meet gets a name that nothing binds: it stays unknown."""
        names: dict[str, Expr] = {}
        for name in names_of(condition):
            slot = self.frame.bound.get(name)
            if name in self.types:
                names[f"{name}.type"] = Name(self.types[name], condition.span)
            if name in self.regridded:
                unknown = Name(f"?{name}", condition.span)
                names |= {f"{name}.{part}": unknown for part in ("scale", "zero_point", "axis")}
                slot = None if _asks_grid(condition, name) else slot
            if slot is not None:
                names[name] = Name(slot, condition.span)
            elif name in self.attributes:
                names[name] = self.attributes[name]
            elif self.structure.attribute_owner(name) is None and name not in RESERVED:
                names[name] = Name(f"?{name}", condition.span)
        return substitute(condition, names)


def _asks_grid(condition: Expr, name: str) -> bool:
    return any(
        isinstance(call, Call)
        and call.function in GRID_FUNCTIONS
        and any(isinstance(each, Name) and each.id == name for each in call.arguments)
        for call in walk(condition)
    )


def _once(term: Apply) -> Apply:
    return replace(term, arity=Arity.ONE)


def applied(term: Term) -> Iterator[Apply]:
    """The nodes of a term, outer ones first."""
    if isinstance(term, Apply):
        yield term
        for operand in term.operands:
            yield from applied(operand)
