"""What repeats in a pattern: operands with ``...``, statements over lists, uses of a value, chains.

Each is elaborated as a pattern of its own.  The names that it binds stand outside for lists, one
element a match, and inside the surroundings' single values are the surroundings'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..diagnostics import failure
from ..packs.pack import Pack
from ..syntax import (
    Apply,
    Arity,
    Assign,
    Capture,
    Presence,
    Quantifier,
    RestAttributes,
    Span,
    Term,
    Use,
    Wildcard,
)
from .choices import Choose, every_choice
from .elaborate import Elaborator
from .flat import (
    AttributeOf,
    AttributesOf,
    Binding,
    Each,
    Flat,
    FlatChain,
    FlatNode,
    FlatValue,
    NotThere,
    OperandsOf,
    Role,
    Scope,
    Source,
    ValueOperand,
)

MOST_ELEMENT_VARIANTS = 16


class PatternElaborator(Elaborator):
    """Elaborates a rule's pattern (``around`` is None) or what repeats in one."""

    def __init__(
        self,
        pack: Pack,
        choose: Choose,
        flat: Flat,
        single: frozenset[str],
        around: tuple[Elaborator, Scope] | None = None,
    ) -> None:
        super().__init__(pack, choose, flat)
        self.single = single
        """Names of the rule that stand outside of all that repeats."""
        self.around = around
        self.elements: dict[str, FlatValue] = {}
        self.over: dict[FlatValue, FlatValue] = {}
        """Lists that are gone through, and the element of each."""
        self.maps_lists = False

    def from_outside(self, name: str, scope: Scope, span: Span) -> FlatValue | None:
        if self.around is None or scope is not self.flat.scope:
            return None
        if name in self.elements:
            return self.elements[name]
        elaborator, outer = self.around
        bound = outer.names.get(name)
        if isinstance(bound, FlatValue) and bound.each is not None:
            return self._element(name, bound, span)
        if bound is not None or name in self.single:
            return elaborator.value(name, outer, span)
        return None

    def _element(self, name: str, listed: FlatValue, span: Span) -> FlatValue:
        """The element of a list that this pattern goes through, and its parts."""
        if not self.maps_lists:
            raise failure(f'the list "{name}" cannot stand here a second time', span)
        element = self.elements[name] = self.over[listed] = self.new_value(name)
        for (owner, part), value in list(self.flat.parts.items()):
            if owner is listed and isinstance(value, FlatValue):
                self.over[value] = self.new_value(value.name)
                self.flat.parts[element, part] = self.over[value]
        return element

    # -- what repeats

    def repeated(self, terms: Sequence[Term], scope: Scope, span: Span) -> Each:
        each = Each(Source.OPERANDS, span)

        def build(child: PatternElaborator) -> None:
            entries = [child.operand(term, child.flat.scope) for term in terms]
            values = [each.value for each in entries if isinstance(each, ValueOperand)]
            if len(values) < len(entries):
                raise failure("what repeats must be there in every element", span)
            child.flat.entries = tuple(values)

        return self._finish(each, scope, build)

    def map_lists(self, statement: Assign, scope: Scope) -> None:
        """``y... = Q(part)...``"""
        each = Each(Source.LISTS, statement.span)
        term = statement.term
        assert isinstance(term, Apply)
        over: list[FlatValue] = []

        def build(child: PatternElaborator) -> None:
            child.maps_lists = True
            results = [child.new_value(target.name) for target in statement.targets]
            for value in results:
                child.flat.scope.names[value.name] = value
            child.node(replace(term, arity=Arity.ONE), child.flat.scope, results)
            if not child.over:
                raise failure(
                    "a statement with `...` goes through a list bound elsewhere", term.span
                )
            over[:] = child.over
            child.flat.entries = tuple(child.over.values())

        self._finish(each, scope, build)
        each.over = tuple(over)
        self.flat.eaches.append(each)

    def uses(self, statement: Use, scope: Scope) -> None:
        """``each use of y is d = DQ(y)``"""
        each = Each(Source.USES, statement.span, quantifier=statement.quantifier)
        start = self.value(statement.value, scope, statement.span)

        def build(child: PatternElaborator) -> None:
            results: list[FlatValue | None] = []
            if statement.result is not None:
                result = child.new_value(statement.result)
                child.flat.scope.names[statement.result] = result
                results = [result]
            child.node(statement.term, child.flat.scope, results)
            child.flat.entry_node = _consumer_of(start, child.flat, statement.span)

        self._finish(each, scope, build)
        each.over = (start,)
        self.flat.eaches.append(each)

    def chain_element(self, term: Apply, scope: Scope) -> tuple[Flat, ...]:
        def build(child: PatternElaborator) -> None:
            before = child.flat.scope.names["\0"] = child.new_value()
            first = Capture("\0", None, Arity.ONE, term.span)
            others = term.operands[1:] or (Wildcard(Arity.REPEATED, term.span),)
            attributes = term.attributes
            if attributes is None and term.label is not None and not self._is_fragment(term):
                # What the label replays has the attributes that it had.
                attributes = (RestAttributes(None, term.span),)
            once = replace(
                term,
                presence=Presence.ONCE,
                arity=Arity.ONE,
                label=None,
                attributes=attributes,
                operands=(first,) if self._is_fragment(term) else (first, *others),
            )
            child.node(once, child.flat.scope, [])
            inner = [node for node in child.flat.nodes if not node.borrowed] or child.flat.nodes
            for node in child.flat.nodes:
                node.role = Role.BORROWED if node.borrowed else Role.ROOT
            child.flat.entry_node, child.flat.exports = inner[0], [before]
            if len(inner) > 1 or _consumer_of(before, child.flat, term.span) is not inner[0]:
                raise failure("each link of a chain is one node", term.span)

        return tuple(self._variants(scope, build, term.span))

    def _is_fragment(self, term: Apply) -> bool:
        return term.op.name in self.pack.fragments and not term.op.domain

    # -- variants of what repeats, and the lists that they make

    def _variants(
        self, scope: Scope, build: Callable[[PatternElaborator], None], span: Span
    ) -> list[Flat]:
        def make(choose: Choose) -> Flat:
            flat = Flat(Scope(), parts=self.flat.parts)
            child = PatternElaborator(self.pack, choose, flat, self.single, (self, scope))
            build(child)
            return flat

        variants = every_choice(make, MOST_ELEMENT_VARIANTS, span)
        known = frozenset(name for flat in variants for name in flat.scope.names)
        for flat in variants:
            flat.scope.known = known
        return variants

    def _finish(self, each: Each, scope: Scope, build: Callable[[PatternElaborator], None]) -> Each:
        each.variants = tuple(self._variants(scope, build, each.span))
        if each.quantifier is not Quantifier.NO:
            self._export(each, scope)
        return each

    def _export(self, each: Each, scope: Scope) -> None:
        """Let the names bound inside stand for lists outside."""
        found = [_exported(flat) for flat in each.variants]
        keys = list(dict.fromkeys(key for exports in found for key in exports))
        for flat, exports in zip(each.variants, found, strict=True):
            flat.exports = [exports.get(key) for key in keys]
        listed = None if each.quantifier is Quantifier.SOME else each
        slots: dict[str, FlatValue | FlatNode | FlatChain] = {}
        for key in keys:
            inner = next(exports[key] for exports in found if key in exports)
            slots[key] = self._slot(inner, listed, each.span)
        each.slots = list(slots.values())
        for flat in reversed(each.variants):
            for name, binding in flat.scope.names.items():
                self._rebind(name, binding, flat, slots, scope)

    def _slot(
        self, inner: FlatValue | FlatNode | FlatChain, each: Each | None, span: Span
    ) -> FlatValue | FlatNode | FlatChain:
        if isinstance(inner, FlatValue):
            return FlatValue(inner.name, self.flat, each=each)
        if isinstance(inner, FlatNode):
            return FlatNode(inner.forms, inner.span, each=each)
        raise failure("a chain with a label cannot stand inside what repeats", span)

    def _rebind(
        self,
        name: str,
        binding: Binding,
        flat: Flat,
        slots: Mapping[str, FlatValue | FlatNode | FlatChain],
        scope: Scope,
    ) -> None:
        if isinstance(binding, FlatValue):
            if binding.home is not flat:
                return
            slot = slots[name]
            assert isinstance(slot, FlatValue)
            scope.names[name] = slot
            for (owner, part), value in list(self.flat.parts.items()):
                if owner is binding:
                    self.flat.parts[slot, part] = _part_slot(value, f"{name}.{part}", slot, slots)
        elif isinstance(binding, FlatNode | FlatChain):
            scope.names[name] = slots[name]
        elif isinstance(binding, AttributeOf | OperandsOf | AttributesOf):
            node = slots[f"{name}!"]
            assert isinstance(node, FlatNode)
            scope.names[name] = replace(binding, node=node)


def _exported(flat: Flat) -> dict[str, FlatValue | FlatNode | FlatChain]:
    """What the surroundings can read of a repeated pattern, by name; ``!`` marks a node."""
    found: dict[str, FlatValue | FlatNode | FlatChain] = {}
    for name, binding in flat.scope.names.items():
        if isinstance(binding, FlatValue) and binding.home is flat and name != "\0":
            found[name] = binding
            for (owner, part), value in flat.parts.items():
                if owner is binding:
                    key, inner = f"{name}.{part}", value
                    if isinstance(inner, AttributeOf):
                        found[f"{key}!"] = inner.node
                    elif isinstance(inner, FlatValue):
                        found[key] = inner
        elif isinstance(binding, FlatNode | FlatChain):
            found[name] = binding
        elif isinstance(binding, AttributeOf | OperandsOf | AttributesOf):
            found[f"{name}!"] = binding.node
    return found


def _part_slot(
    value: FlatValue | AttributeOf | NotThere,
    key: str,
    owner: FlatValue,
    slots: Mapping[str, FlatValue | FlatNode | FlatChain],
) -> FlatValue | AttributeOf | NotThere:
    if isinstance(value, NotThere):
        return value
    if isinstance(value, AttributeOf):
        node = slots[f"{key}!"]
        assert isinstance(node, FlatNode)
        return replace(value, node=node, part_of=owner)
    slot = slots[key]
    assert isinstance(slot, FlatValue)
    return slot


def _consumer_of(value: FlatValue, flat: Flat, span: Span) -> FlatNode:
    for node in flat.nodes:
        if any(isinstance(each, ValueOperand) and each.value is value for each in node.operands):
            return node
    raise failure(f'what a use of "{value.name}" is must take "{value.name}" as an operand', span)
