"""Collects what the names of patterns stand for.

A pattern binds a name where it first stands; every further place is the same thing again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from qrewrite.engine.dtypes import NUMBERS

from ..packs.pack import Pack
from ..syntax import (
    Alternatives,
    Apply,
    Arity,
    Assign,
    Attribute,
    Capture,
    Connected,
    Expr,
    Field,
    Fragment,
    Group,
    Name,
    Presence,
    Quantifier,
    Rest,
    RestAttributes,
    Span,
    Statement,
    Target,
    Term,
    Use,
)
from .bindings import RESERVED, Binding, Bindings, Context, Role
from .report import Report

Summary = Mapping[str, Binding]
"""What a fragment binds of its parameters and its result."""


class Collector:
    """Collects the bindings of patterns; remembers what it has learnt of fragments."""

    def __init__(self, pack: Pack, report: Report) -> None:
        self._pack = pack
        self._report = report
        self._summaries: dict[str, Summary] = {}

    def of_rule(self, statements: Iterable[Statement]) -> Bindings:
        bindings = Bindings()
        for statement in statements:
            match statement:
                case Assign():
                    self._assign(statement, bindings)
                case Use():
                    self._use(statement, bindings)
                case Connected():
                    self._bind(bindings, statement.name, Role.VALUE, statement.span, Context(True))
        return bindings

    def of_fragment(self, fragment: Fragment) -> Bindings:
        """The bindings of all alternatives together; what not all of them bind is optional."""
        found = []
        for alternative in fragment.alternatives:
            bindings = Bindings()
            self._term(alternative.term, Context(), bindings)
            result = fragment.result
            if result is not None:
                target = Target(result, Arity.ONE, fragment.name_span)
                self._results((target,), alternative.term, Context(), bindings)
            found.append(bindings)
        return _merged(found)

    def summary(self, fragment: Fragment) -> Summary:
        """Role and parts of a fragment's parameters and result."""
        known = self._summaries.get(fragment.name)
        if known is None:
            self._summaries[fragment.name] = {}  # a fragment inside itself is reported elsewhere
            quiet = Collector(self._pack, Report())
            quiet._summaries = self._summaries
            known = quiet.of_fragment(fragment).names
            self._summaries[fragment.name] = known
        return known

    # -- statements

    def _assign(self, statement: Assign, bindings: Bindings) -> None:
        self._term(statement.term, Context(), bindings)
        self._results(statement.targets, statement.term, Context(), bindings)

    def _results(
        self, targets: Iterable[Target], term: Term, context: Context, bindings: Bindings
    ) -> None:
        parts: set[str] = set()
        optional = context.optional
        for node in _heads(term):
            fragment = self._pack.fragments.get(node.op.name)
            optional = optional or node.presence is Presence.OPTIONAL
            if fragment is not None and fragment.result is not None and not node.op.domain:
                parts |= self.summary(fragment)[fragment.result].parts
        for target in targets:
            repeated = context.repeated or target.arity is Arity.REPEATED
            missing = context.optional or target.arity is Arity.OPTIONAL
            place = Context(repeated, missing, target.arity is Arity.REPEATED)
            self._bind(bindings, target.name, Role.VALUE, target.span, place, parts)

    def _use(self, statement: Use, bindings: Bindings) -> None:
        inner = bindings
        if statement.quantifier is Quantifier.NO:
            inner = Bindings()
        context = Context(repeated=statement.quantifier is Quantifier.EACH)
        self._term(statement.term, context, inner, shared=frozenset({statement.value}))
        if statement.result is not None:
            target = Target(statement.result, Arity.ONE, statement.span)
            self._results((target,), statement.term, context, inner)
        if inner is not bindings:
            for name in inner.names.keys() - bindings.names.keys():
                bindings.hidden[name] = "no use"
            bindings.expressions += inner.expressions

    # -- terms

    def _term(
        self, term: Term, context: Context, bindings: Bindings, shared: frozenset[str] = frozenset()
    ) -> None:
        match term:
            case Capture(name, part) if part is not None:
                self._part(name, part, term.span, context, bindings)
            case Capture(name):
                if name in shared:
                    return
                inside = _within(context, term.arity)
                place = replace(inside, listed=term.arity is Arity.REPEATED)
                self._bind(bindings, name, Role.VALUE, term.span, place)
            case Rest(capture):
                self._bind(bindings, capture, Role.OPERANDS, term.span, context)
            case Group():
                for operand in term.operands:
                    self._term(operand, Context(True, context.optional), bindings, shared)
            case Alternatives():
                self._alternatives(term, context, bindings, shared)
            case Apply():
                self._apply(term, context, bindings, shared)
            case _:
                pass

    def _alternatives(
        self, term: Alternatives, context: Context, bindings: Bindings, shared: frozenset[str]
    ) -> None:
        inside = _within(context, term.arity)
        found = []
        for choice in term.choices:
            each = Bindings()
            self._term(choice, inside, each, shared)
            found.append(each)
        merged = _merged(found)
        bindings.expressions += merged.expressions
        for binding in merged.names.values():
            place = Context(binding.repeated, binding.optional)
            self._bind(bindings, binding.name, binding.role, binding.span, place, binding.parts)

    def _apply(
        self, node: Apply, context: Context, bindings: Bindings, shared: frozenset[str]
    ) -> None:
        around = _within(context, node.arity)
        may_be_missing = node.presence in (Presence.OPTIONAL, Presence.ANY)
        inside = Context(around.repeated, around.optional or may_be_missing)
        if node.label is not None:
            self._bind(bindings, node.label, Role.NODE, node.span, inside, op=node)
        for item in node.attributes or ():
            match item:
                case Attribute():
                    self._attribute(item, node, inside, bindings)
                case RestAttributes(capture) if capture is not None:
                    span = item.span
                    self._bind(bindings, capture, Role.ATTRIBUTES, span, inside, op=node)
                case _:
                    pass
        for position, operand in enumerate(node.operands):
            self._term(operand, inside if position else around, bindings, shared)
        self._fragment_parts(node, inside, bindings)

    def _attribute(
        self, item: Attribute, node: Apply, context: Context, bindings: Bindings
    ) -> None:
        value = item.value
        place = Context(context.repeated, context.optional or item.optional)
        owner = self._owner(value, bindings)
        if isinstance(value, Field) and owner is not None:
            self._part(owner, value.name, value.span, place, bindings)
            return
        if isinstance(value, Name) and value.id not in RESERVED:
            self._bind(bindings, value.id, Role.ATTRIBUTE, value.span, place, op=node)
            return
        bindings.expressions.append(value)

    def _owner(self, value: Expr, bindings: Bindings) -> str | None:
        """The capture of which ``x.axis`` is a part; None where it is an attribute of a node."""
        if not isinstance(value, Field) or not isinstance(value.base, Name):
            return None
        name = value.base.id
        return None if name in RESERVED or bindings.role(name) is Role.NODE else name

    def _fragment_parts(self, node: Apply, context: Context, bindings: Bindings) -> None:
        """A fragment names parts of its parameters: they are parts of the operands."""
        fragment = None if node.op.domain else self._pack.fragments.get(node.op.name)
        if fragment is None:
            return
        summary = self.summary(fragment)
        for parameter, operand in zip(fragment.parameters, node.operands, strict=False):
            inner = summary.get(parameter)
            if inner is None or not isinstance(operand, Capture) or operand.part is not None:
                continue
            binding = bindings.names.get(operand.name)
            if binding is not None:
                binding.parts |= inner.parts
                if binding.role is Role.VALUE and inner.role is Role.ATTRIBUTE:
                    binding.role = Role.ATTRIBUTE

    # -- names

    def _part(self, name: str, part: str, span: Span, context: Context, bindings: Bindings) -> None:
        binding = bindings.names.get(name)
        if binding is None:
            binding = Binding(name, Role.VALUE, span, context.repeated, context.optional, places=0)
            bindings.names[name] = binding
        binding.parts.add(part)

    def _bind(
        self,
        bindings: Bindings,
        name: str,
        role: Role,
        span: Span,
        context: Context,
        parts: Iterable[str] = (),
        op: Apply | None = None,
    ) -> None:
        if name in RESERVED:
            meaning = f"element type {name}" if name in NUMBERS else f'word "{name}"'
            self._report.error(span, f'"{name}" cannot be a capture: it is the {meaning}')
            return
        known = bindings.names.get(name)
        if known is None:
            bindings.names[name] = Binding(
                name,
                role,
                span,
                context.repeated,
                context.optional,
                context.listed,
                set(parts),
                1,
                op,
            )
            return
        if known.places:
            self._agree(known, role, span, context)
        else:
            known.repeated, known.listed = context.repeated, context.listed
            known.optional, known.span = context.optional, span
        known.role = role if known.role is Role.VALUE else known.role
        known.parts.update(parts)
        known.optional = known.optional and context.optional
        known.places += 1
        known.op = known.op or op

    def _agree(self, known: Binding, role: Role, span: Span, context: Context) -> None:
        where = f"line {known.span.line}"
        if known.role is not role:
            message = f'"{known.name}" is {role.value} here, but {known.role.value} in {where}'
            self._report.error(span, message)
        elif role is Role.NODE:
            self._report.error(span, f'the label "{known.name}" stands on two nodes')
        elif known.repeated != context.repeated and not (known.listed or context.listed):
            known.repeated = False
        elif known.repeated != context.repeated:
            here, there = ("a list", "one value")[:: 1 if context.repeated else -1]
            message = f'"{known.name}" is {here} here, but {there} in {where}'
            self._report.error(span, message)


def _within(context: Context, arity: Arity) -> Context:
    return Context(
        context.repeated or arity is Arity.REPEATED,
        context.optional or arity is Arity.OPTIONAL,
        context.listed,
    )


def _heads(term: Term) -> tuple[Apply, ...]:
    """The nodes whose output a term is."""
    match term:
        case Apply():
            return (term,)
        case Alternatives():
            return tuple(head for choice in term.choices for head in _heads(choice))
        case _:
            return ()


def _merged(found: Iterable[Bindings]) -> Bindings:
    """Bindings of alternatives: a name that not all of them bind is optional."""
    each = list(found)
    merged = Bindings()
    for bindings in each:
        merged.expressions += bindings.expressions
        for name, binding in bindings.names.items():
            known = merged.names.setdefault(name, binding)
            known.parts |= binding.parts
            known.optional = known.optional or binding.optional
            known.repeated = known.repeated or binding.repeated
    for name, binding in merged.names.items():
        if any(name not in bindings.names for bindings in each):
            binding.optional = True
    return merged
