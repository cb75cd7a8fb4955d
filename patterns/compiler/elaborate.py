"""From the terms of a pattern to flat nodes and values, given what is chosen among its variants.

Fragments are expanded where they stand.  A name of a fragment that is neither a parameter nor its
result belongs to that one use of it; parts (``x.scale``) belong to the value that ``x`` stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from qrewrite.engine.dtypes import NUMBERS

from ..diagnostics import failure
from ..packs.pack import Pack
from ..syntax import (
    Absent,
    Alternative,
    Alternatives,
    Apply,
    Arity,
    Attribute,
    Capture,
    Constant,
    Field,
    Fragment,
    Group,
    Name,
    Presence,
    Rest,
    RestAttributes,
    Span,
    Term,
    Wildcard,
)
from .alternatives import forms_of, grouped, is_commutative, is_literal
from .choices import Choose
from .flat import (
    ABSENT,
    AnyOperand,
    AttributeOf,
    AttributesOf,
    Condition,
    Each,
    EachOperand,
    Flat,
    FlatChain,
    FlatNode,
    FlatValue,
    Form,
    NoOperand,
    NotThere,
    NumberOperand,
    Operand,
    OperandsOf,
    RestOperands,
    Scope,
    ValueOperand,
)
from .term_names import names_of

MOST_COMMUTED = 3


class Elaborator:
    """Builds one variant; ``choose`` decides wherever there is more than one way."""

    def __init__(self, pack: Pack, choose: Choose, flat: Flat) -> None:
        self.pack = pack
        self.choose = choose
        self.flat = flat
        self._depth = 0

    def from_outside(self, name: str, scope: Scope, span: Span) -> FlatValue | None:
        """The value of what surrounds a repeated pattern that this name stands for there."""
        return None

    def repeated(self, terms: Sequence[Term], scope: Scope, span: Span) -> Each:
        """Operands that repeat together."""
        raise NotImplementedError

    def chain_element(self, term: Apply, scope: Scope) -> tuple[Flat, ...]:
        """The pattern of one node of a chain, which takes the node before as its first operand."""
        raise NotImplementedError

    def new_value(self, name: str = "") -> FlatValue:
        return FlatValue(name, self.flat)

    # -- operands

    def operand(self, term: Term, scope: Scope) -> Operand:
        match term:
            case Capture():
                return self._capture(term, scope)
            case Apply() | Alternatives():
                return self._nested(term, scope)
            case Wildcard(arity):
                return (
                    RestOperands()
                    if arity is Arity.REPEATED
                    else AnyOperand(arity is Arity.OPTIONAL)
                )
            case Absent():
                return NoOperand()
            case Constant(value):
                return NumberOperand(value)
            case Group(operands):
                return EachOperand(self.repeated(operands, scope, term.span))
            case Rest():
                raise AssertionError("bound where its node is known")

    def _capture(self, term: Capture, scope: Scope) -> Operand:
        if term.arity is Arity.REPEATED:
            return EachOperand(self.repeated((_once(term),), scope, term.span))
        if term.name in scope.operands and term.part is None:
            return scope.operands[term.name]
        if term.part is not None:
            value = self.part_value(term, scope)
            return ValueOperand(value, term.arity is Arity.OPTIONAL)
        bound = scope.names.get(term.name) or self.from_outside(term.name, scope, term.span)
        if bound is None and term.arity is Arity.OPTIONAL and self.choose(2, term.span):
            scope.names[term.name] = ABSENT
            return NoOperand()
        if isinstance(bound, NotThere):
            return NoOperand()
        return ValueOperand(self.value(term.name, scope, term.span))

    def value(self, name: str, scope: Scope, span: Span) -> FlatValue:
        """The value that a name stands for, new where the name is."""
        bound = scope.names.get(name)
        if bound is None:
            bound = self.from_outside(name, scope, span)
        if bound is None:
            bound = scope.names[name] = self.new_value(name)
        if not isinstance(bound, FlatValue):
            raise failure(f'"{name}" is not a value here', span)
        if bound.each is not None:
            raise failure(f'"{name}" is a list; write `{name}...`', span)
        return bound

    def part_value(self, term: Capture, scope: Scope) -> FlatValue:
        """``x.scale`` as an operand."""
        assert term.part is not None
        base = self.value(term.name, scope, term.span)
        found = self.flat.parts.get((base, term.part))
        if found is None:
            found = FlatValue(f"{base.name}.{term.part}", base.home)
            self.flat.parts[base, term.part] = found
        if not isinstance(found, FlatValue):
            raise failure(f'"{term.name}.{term.part}" is an attribute, not an operand', term.span)
        return found

    def _nested(self, term: Apply | Alternatives, scope: Scope) -> Operand:
        if term.arity is Arity.REPEATED:
            return EachOperand(self.repeated((_once(term),), scope, term.span))
        if term.arity is Arity.OPTIONAL and self.choose(2, term.span):
            return NoOperand()
        return self.node(term, scope, [])

    # -- nodes

    def node(self, term: Term, scope: Scope, results: Sequence[FlatValue | None]) -> Operand:
        """The first output of a node; ``results`` are the values that its outputs shall be."""
        self._depth += 1
        if self._depth > 60:
            raise failure("patterns are nested too deeply, or contain themselves", term.span)
        try:
            return self._node(term, scope, results)
        finally:
            self._depth -= 1

    def _node(self, term: Term, scope: Scope, results: Sequence[FlatValue | None]) -> Operand:
        if isinstance(term, Alternatives):
            groups = grouped([(choice, ()) for choice in term.choices], self.pack)
            chosen = groups[self.choose(len(groups), term.span)] if len(groups) > 1 else groups[0]
            if len(chosen) > 1:
                return self._op([each for each, _ in chosen], scope, results)
            return self.node(chosen[0][0], scope, results)
        if not isinstance(term, Apply):
            if results:
                raise failure("a statement of a pattern names the outputs of a node", term.span)
            return self.operand(term, scope)
        if term.presence is Presence.OPTIONAL:
            if self.choose(2, term.span):
                self._need_operands(term)
                return self.node(term.operands[0], scope, results)
        elif term.presence is not Presence.ONCE:
            return self._chain(term, scope, results)
        fragment = self.pack.fragments.get(term.op.name)
        if fragment is not None and not term.op.domain and term.op.slot is None:
            return self._fragment(term, fragment, scope, results)
        return self._op([term], scope, results)

    def _need_operands(self, term: Apply) -> None:
        if not term.operands:
            raise failure(
                f"`{term.op.name}{term.presence.value}` stands around an operand", term.span
            )

    def _op(
        self, terms: Sequence[Term], scope: Scope, results: Sequence[FlatValue | None]
    ) -> Operand:
        """A node of one op, of an op set, or of alternatives that differ in op and attributes
        alone."""
        applied = [term for term in terms if isinstance(term, Apply)]
        first = applied[0]
        node = FlatNode(tuple(forms_of(applied, self.pack)), first.span)
        node.borrowed = first.borrowed
        node.optional = first.presence is Presence.OPTIONAL
        node.outputs = list(results) or [self.new_value()]
        if node.outputs[0] is None:
            node.outputs[0] = self.new_value()
        for position, output in enumerate(node.outputs):
            if output is not None:
                if output.producer is not None:
                    raise failure(f'"{output.name}" is made twice', first.span)
                output.producer, output.position = node, position
        if first.label is not None:
            scope.names[first.label] = node
        for form in node.forms:
            self._attributes(form, node, scope)
        self._operands(first, node, scope)
        self.flat.nodes.append(node)
        value = node.outputs[0]
        assert value is not None
        return ValueOperand(value)

    def _operands(self, term: Apply, node: FlatNode, scope: Scope) -> None:
        terms: Sequence[Term] = term.operands
        if term.commuted or is_commutative(term.op, self.pack):
            terms = self._commuted(term)
        for position, each in enumerate(terms):
            if isinstance(each, Rest):
                scope.names.setdefault(each.capture, OperandsOf(node, position))
                node.operands.append(RestOperands())
            else:
                node.operands.append(self.operand(each, scope))
        for operand in node.operands[:-1]:
            if isinstance(operand, RestOperands):
                raise failure("nothing can follow the rest of the operands", term.span)
        for found in node.operands:
            if isinstance(found, EachOperand):
                found.each.node = node

    def _commuted(self, term: Apply) -> Sequence[Term]:
        """The operands in the order that is chosen."""
        terms = term.operands
        if any(isinstance(each, Rest | Group) or _repeats(each) for each in terms):
            return terms
        if len(terms) > MOST_COMMUTED:
            raise failure(
                f"more than {MOST_COMMUTED} operands cannot be taken in any order", term.span
            )
        orders = list(dict.fromkeys(permutations(terms)))
        return orders[self.choose(len(orders), term.span)] if len(orders) > 1 else terms

    # -- attributes

    def _attributes(self, form: Form, node: FlatNode, scope: Scope) -> None:
        named = frozenset(
            item.name
            for each in node.forms
            for item in each.attributes or ()
            if not isinstance(item, RestAttributes)
        )
        for item in form.attributes or ():
            if isinstance(item, RestAttributes):
                if item.capture is not None:
                    scope.names[item.capture] = AttributesOf(node, named)
            elif isinstance(item, Attribute):
                self._attribute(item, node, scope)

    def _attribute(self, item: Attribute, node: FlatNode, scope: Scope) -> None:
        value = item.value
        found = AttributeOf(node, item.name, item.optional)
        if isinstance(value, Field) and isinstance(value.base, Name) and value.base.id != "options":
            base = scope.names.get(value.base.id)
            if not isinstance(base, FlatNode):
                owner = self.value(value.base.id, scope, value.span)
                found = AttributeOf(node, item.name, item.optional, owner)
                known = self.flat.parts.setdefault((owner, value.name), found)
                if known != found:
                    self.flat.conditions.append(Condition(value, scope, found))
                return
        if isinstance(value, Name) and value.id not in NUMBERS and value.id != "opset":
            bound = scope.names.get(value.id)
            if bound is None and self.from_outside(value.id, scope, value.span) is None:
                scope.names[value.id] = found
                return
            if bound == found:
                return
        if not is_literal(value):
            self.flat.conditions.append(Condition(value, scope, found))

    # -- fragments

    def _fragment(
        self, term: Apply, fragment: Fragment, scope: Scope, results: Sequence[FlatValue | None]
    ) -> Operand:
        if term.attributes is not None:
            raise failure(f'"{fragment.name}" is a pattern, and takes no attributes', term.span)
        if len(term.operands) > len(fragment.parameters):
            raise failure(f'"{fragment.name}" has too many operands', term.span)
        inner = Scope(known=_names_in(fragment))
        for position, parameter in enumerate(fragment.parameters):
            if position < len(term.operands):
                self._argument(parameter, term.operands[position], scope, inner)
            else:
                inner.names[parameter] = ABSENT
        made = list(results)
        if fragment.result is not None:
            if not made or made[0] is None:
                made[:1] = [self.new_value()]
            result = made[0]
            assert result is not None
            inner.names[fragment.result] = result
        chosen = self._alternative(fragment, term.span)
        before = len(self.flat.nodes)
        if len(chosen) > 1:
            value = self._op([each.term for each in chosen], inner, made)
        else:
            value = self.node(chosen[0].term, inner, made)
        self.flat.conditions += [Condition(each, inner) for each in chosen[0].conditions]
        self._outermost(term, self.flat.nodes[before:], scope)
        return value

    def _outermost(self, term: Apply, nodes: Sequence[FlatNode], scope: Scope) -> None:
        """Label and ``&`` of a fragment's use are those of its outermost node, the last one
        made."""
        if nodes:
            nodes[-1].borrowed |= term.borrowed
            nodes[-1].optional |= term.presence is Presence.OPTIONAL
            if term.label is not None:
                scope.names[term.label] = nodes[-1]

    def _argument(self, parameter: str, term: Term, scope: Scope, inner: Scope) -> None:
        if isinstance(term, Rest):
            raise failure("a pattern takes its operands one by one", term.span)
        operand = self.operand(term, scope)
        match operand:
            case ValueOperand(value, False):
                inner.names[parameter] = value
            case AnyOperand(False):
                inner.names[parameter] = self.new_value()
            case NoOperand():
                inner.names[parameter] = ABSENT
            case _:
                inner.operands[parameter] = operand

    def _alternative(self, fragment: Fragment, span: Span) -> Sequence[Alternative]:
        found = [(each.term, each.conditions) for each in fragment.alternatives]
        groups = grouped(found, self.pack)
        chosen = groups[self.choose(len(groups), span)] if len(groups) > 1 else groups[0]
        return [Alternative(term, conditions, span) for term, conditions in chosen]

    # -- chains

    def _chain(self, term: Apply, scope: Scope, results: Sequence[FlatValue | None]) -> Operand:
        self._need_operands(term)
        source = self.operand(term.operands[0], scope)
        if not isinstance(source, ValueOperand) or source.optional:
            raise failure("a chain stands around one operand that is there", term.span)
        result = next(iter(results), None) or self.new_value()
        element = self.chain_element(term, scope)
        at_least_one = term.presence is Presence.SOME
        borrowed = term.borrowed
        chain = FlatChain(element, at_least_one, borrowed, source.value, result, term.span)
        result.producer = chain
        self.flat.chains.append(chain)
        if term.label is not None:
            scope.names[term.label] = chain
        return ValueOperand(result)


def _once(term: Term) -> Term:
    assert isinstance(term, Capture | Apply | Alternatives)
    return replace(term, arity=Arity.ONE)


def _repeats(term: Term) -> bool:
    return getattr(term, "arity", None) is Arity.REPEATED


def _names_in(fragment: Fragment) -> frozenset[str]:
    return frozenset(name for each in fragment.alternatives for name in names_of(each.term))
