"""The nodes of a rule, a fragment or a template, each against the schema of its op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..packs.pack import Pack, op_key
from ..syntax import (
    Apply,
    Assign,
    Attribute,
    Expr,
    Field,
    Fragment,
    Let,
    Name,
    Presence,
    RestAttributes,
    Rule,
    Term,
    Use,
    Where,
)
from .attributes import Attributes
from .bindings import Bindings, Role
from .ops import Ops
from .recoding import connected
from .report import Report
from .roots import kept, produced
from .signatures import Opsets, Signature, Signatures
from .walk import nodes, subexpressions


@dataclass(frozen=True, slots=True)
class Made:
    """An op that a template makes; for ``QLinear{label}`` also what the labelled node is then."""

    op: str
    label: Apply | None = None
    member: str = ""


class Nodes:
    def __init__(self, pack: Pack, report: Report, signatures: Signatures) -> None:
        self._pack = pack
        self._report = report
        self._signatures = signatures
        self.ops = Ops(pack, report, signatures)
        self._attributes = Attributes(report, signatures)

    def rule(self, rule: Rule, bindings: Bindings, opsets: Opsets) -> None:
        read = _attributes_read(rule)
        replayed = _labels_replayed(rule)
        made, stays = produced(rule), kept(rule)
        for statement in rule.pattern:
            if isinstance(statement, Assign):
                removed = statement not in stays
                self._pattern(statement.term, opsets, read, replayed, removed=removed)
                if isinstance(statement.term, Apply):
                    found = self._signatures.of_node(statement.term, opsets)
                    self.ops.outputs(statement, found)
            elif isinstance(statement, Use):
                removed = statement.result in made
                self._pattern(statement.term, opsets, read, replayed, removed=removed)
        if _sets_are_bound(rule, bindings):
            self._unused_sets(rule, bindings)
        for assign in () if connected(rule) else rule.template:
            for node in nodes(assign.term):
                self._template(node, opsets, bindings)
            if isinstance(assign.term, Apply):
                ops = self.made(assign.term, bindings)
                signatures = (self._signatures.of(each.op, opsets) for each in ops)
                self.ops.outputs(assign, [each for each in signatures if each is not None])

    def fragment(self, fragment: Fragment) -> None:
        for alternative in fragment.alternatives:
            read: dict[str, frozenset[str]] = {}
            self._pattern(
                alternative.term, self._signatures.opsets, read, frozenset(), removed=True
            )

    # -- patterns

    def _pattern(
        self,
        term: Term,
        opsets: Opsets,
        read: dict[str, frozenset[str]],
        replayed: frozenset[str],
        removed: bool,
    ) -> None:
        for node in nodes(term):
            found = self.ops.pattern_node(node, opsets)
            if not found:
                continue
            before = self._report.errors
            self._attributes.pattern(node, found)
            kept = node.borrowed or not removed or node.label in replayed
            if not kept and self._report.errors == before:
                through_label = read.get(node.label or "", frozenset())
                self._attributes.dropped(node, found, through_label)

    def _unused_sets(self, rule: Rule, bindings: Bindings) -> None:
        used = {
            item.capture
            for assign in rule.template
            for node in nodes(assign.term)
            for item in node.attributes or ()
            if isinstance(item, RestAttributes)
        }
        borrowed = {
            item.capture
            for statement in rule.pattern
            if isinstance(statement, (Assign, Use))
            for node in nodes(statement.term)
            if node.borrowed
            for item in node.attributes or ()
            if isinstance(item, RestAttributes)
        }
        for binding in bindings.names.values():
            is_set = binding.role is Role.ATTRIBUTES
            if is_set and binding.name not in used and binding.name not in borrowed:
                self._attributes.unused(binding.span, binding.name, binding.op)

    # -- templates

    def made(self, node: Apply, bindings: Bindings) -> tuple[Made, ...]:
        """The ops that a node of a template may become."""
        op = node.op
        if op.slot is not None:
            domain = f"{op.domain}::" if op.domain else ""
            return tuple(
                Made(f"{domain}{op.name}{member}{op.suffix}", label, member)
                for label, member in self._labelled(op.slot, bindings)
            )
        if not op.domain:
            if bindings.role(op.name) is Role.NODE:
                labelled = self._labelled(op.name, bindings)
                return tuple(Made(member, label, member) for label, member in labelled)
            if op.name in self._pack.fragments or op.name in self._pack.op_sets:
                return ()
        return (Made(op_key(op)),)

    def _labelled(self, label: str, bindings: Bindings) -> tuple[tuple[Apply, str], ...]:
        binding = bindings.names.get(label)
        if binding is None or binding.op is None:
            return ()
        return tuple((binding.op, member) for member in self._signatures.ops_of(binding.op))

    def _template(self, node: Apply, opsets: Opsets, bindings: Bindings) -> None:
        chain = bindings.names.get(node.op.name)
        if chain is not None and chain.op is not None and _is_chain(chain.op):
            return  # the nodes of the pattern again, as they were
        for made in self.made(node, bindings):
            signature = self._signatures.of(made.op, opsets)
            if signature is None:
                self._not_made(node, made, opsets)
                return
            before = self._report.errors
            self.ops.template_node(node, signature)
            sources = self._sources(node, bindings, made, opsets)
            self._attributes.template(node, signature, sources)
            if self._report.errors > before:
                return

    def _not_made(self, node: Apply, made: Made, opsets: Opsets) -> None:
        op = node.op
        if op.slot is None or self._signatures.of(made.op, Opsets(1)) is not None:
            self.ops.missing(made.op, op.span, opsets)
            return
        message = f'there is no op "{made.op}"'
        note = f"{op.name}{{{op.slot}}}{op.suffix} is that where {op.slot} is {made.member}"
        self._report.error(op.span, message, note)

    def _sources(
        self, node: Apply, bindings: Bindings, made: Made, opsets: Opsets
    ) -> list[tuple[Apply, Signature]]:
        """The nodes whose attributes ``*attrs`` passes on, and what ops they are then."""
        found = []
        for item in node.attributes or ():
            if not isinstance(item, RestAttributes) or item.capture is None:
                continue
            binding = bindings.names.get(item.capture)
            if binding is None or binding.op is None:
                continue
            for signature in self._signatures.of_node(binding.op, opsets):
                # QLinear{op} is made of one op at a time
                if binding.op is not made.label or signature.op == made.member:
                    found.append((binding.op, signature))
        return found


def _is_chain(node: Apply) -> bool:
    return node.presence in (Presence.ANY, Presence.SOME)


def _sets_are_bound(rule: Rule, bindings: Bindings) -> bool:
    """Every ``*attrs`` of the template is of the pattern: a misspelt one is reported elsewhere."""
    return all(
        bindings.role(item.capture or "") is Role.ATTRIBUTES
        for assign in rule.template
        for node in nodes(assign.term)
        for item in node.attributes or ()
        if isinstance(item, RestAttributes)
    )


def _labels_replayed(rule: Rule) -> frozenset[str]:
    return frozenset(
        node.op.name
        for assign in rule.template
        for node in nodes(assign.term)
        if not node.op.domain and node.attributes is None
    )


def _attributes_read(rule: Rule) -> dict[str, frozenset[str]]:
    """By label: the attributes that conditions, lets and templates read through it."""
    read: dict[str, frozenset[str]] = {}
    for expression in _expressions(rule):
        for each in subexpressions(expression):
            if isinstance(each, Field) and isinstance(each.base, Name):
                label = each.base.id
                read[label] = read.get(label, frozenset()) | {each.name}
    return read


def _expressions(rule: Rule) -> Iterable[Expr]:
    for clause in rule.clauses:
        match clause:
            case Where():
                yield from clause.conditions
            case Let():
                yield from (value for _, value in clause.bindings)
    for assign in rule.template:
        for node in nodes(assign.term):
            for item in node.attributes or ():
                if isinstance(item, Attribute):
                    yield item.value
