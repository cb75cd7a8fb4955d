"""Rules that can never match, and templates whose types can never fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..packs.pack import Pack
from ..syntax import (
    Apply,
    Assign,
    Call,
    Capture,
    Expr,
    Fragment,
    Guard,
    Literal,
    Name,
    Rule,
    Use,
    Where,
)
from .assume import assume
from .bindings import Bindings, Role
from .facts import Facts, type_words
from .inference import Inference, key_of, wrong_constants
from .nodes import Nodes
from .ranges import Range
from .recoding import connected
from .report import Report
from .signatures import NEWEST, Opsets, Signature, Signatures
from .walk import names_in, nodes


@dataclass
class Satisfiable:
    pack: Pack
    report: Report
    signatures: Signatures
    inference: Inference
    nodes: Nodes

    def rule(self, rule: Rule, bindings: Bindings, opsets: Opsets) -> Facts:
        """Report what can never match; the facts that every match fulfils."""
        facts = self.structure(rule, bindings, opsets)
        facts.settle()
        if facts.wrong:
            message = f"this can never match: {facts.wrong}"
            self.report.error(rule.name_span, message)
            return facts
        conditions = rule_conditions(rule)
        self._always_present(conditions, facts)
        before = facts.copy()
        for condition in conditions:
            assume(facts, condition, {})
        facts.settle()
        if facts.wrong:
            optional = {name for name, each in bindings.names.items() if each.optional}
            self._blame(before, conditions, frozenset(optional))
        elif connected(rule) is None:
            self._types_fit(rule, bindings, opsets, facts)
        self._constants(rule, opsets)
        return facts

    def structure(self, rule: Rule, bindings: Bindings, opsets: Opsets) -> Facts:
        """What the pattern says without its conditions."""
        facts = start(self.pack, bindings)
        self._labels(rule, facts)
        own = self.signatures.opsets
        facts.ranges["opset"] = Range(low=own.least, high=NEWEST, whole=True)
        self.inference.statements(rule.pattern, opsets, facts)
        return facts

    def _labels(self, rule: Rule, facts: Facts) -> None:
        """What a labelled node is, and the attributes that the pattern asks of it."""
        for statement in rule.pattern:
            if not isinstance(statement, (Assign, Use)):
                continue
            for node in nodes(statement.term):
                if node.label is None:
                    continue
                ops = self.signatures.ops_of(node)
                if ops:
                    facts.ranges[node.label] = Range(choices=frozenset(ops))
                for item in node.attributes or ():
                    value = getattr(item, "value", None)
                    if isinstance(value, Literal) and value.value is not None:
                        key = f"{node.label}.{getattr(item, 'name', '')}"
                        facts.ranges[key] = Range(choices=frozenset({value.value}))

    def _always_present(self, conditions: Iterable[Expr], facts: Facts) -> None:
        for condition in conditions:
            match condition:
                case Call("present", (Name(name),)) if name in facts.always:
                    message = f'"{name}" is always there, so this says nothing'
                    self.report.warning(condition.span, message)
                case _:
                    pass

    def _blame(
        self, facts: Facts, conditions: Iterable[Expr], optional: frozenset[str] = frozenset()
    ) -> None:
        """Add the conditions one by one and report the one that leaves nothing."""
        for condition in conditions:
            assume(facts, condition, {})
            facts.settle()
            if facts.wrong:
                message = f"this can never hold: {facts.wrong}"
                absent = sorted(optional & names_in(condition))
                note = "so the rule can never match"
                if absent:
                    note = f'so "{absent[0]}" can never be present'
                self.report.error(condition.span, message, note)
                return

    def fragment(self, fragment: Fragment) -> None:
        for alternative in fragment.alternatives:
            facts = Facts(self.pack)
            statement = Assign((), alternative.term, alternative.span)
            self.inference.statements((statement,), self.signatures.opsets, facts)
            facts.settle()
            if facts.wrong:
                message = f"this can never match: {facts.wrong}"
                self.report.error(alternative.span, message)
                continue
            self._blame(facts, alternative.conditions)

    def guard(self, guard: Guard) -> None:
        facts = Facts(self.pack)
        for condition in guard.conditions:
            assume(facts, condition, {})
            facts.settle()
            if facts.wrong:
                message = f"this can never hold: {facts.wrong}"
                self.report.error(condition.span, message, f'so "{guard.name}" is never true')
                return

    # -- constants and types

    def _constants(self, rule: Rule, opsets: Opsets) -> None:
        for statement in (*rule.pattern, *rule.template):
            if not isinstance(statement, (Assign, Use)):
                continue
            for node in nodes(statement.term):
                found = self.signatures.of_node(node, opsets)
                if len(found) == 1:
                    for operand, message in wrong_constants(node, found[0]):
                        self.report.error(operand.span, f"{message}, which cannot hold this")

    def _types_fit(self, rule: Rule, bindings: Bindings, opsets: Opsets, facts: Facts) -> None:
        """What the template passes to an op can have a type that the op takes."""
        for assign in rule.template:
            for node in nodes(assign.term):
                for signature in self._made(node, bindings, opsets):
                    self._operands_fit(node, signature, facts)
            if isinstance(assign.term, Apply):
                made = self._made(assign.term, bindings, opsets)
                for position, target in enumerate(assign.targets):
                    types = [each.output(position) for each in made]
                    known = facts.types.get(target.name)
                    for signature, slot in zip(made, types, strict=True):
                        if slot and slot.types and known and not slot.types & known:
                            message = (
                                f"{signature.op} gives {type_words(slot.types)}, "
                                f'but "{target.name}" is {type_words(known)}'
                            )
                            self.report.error(assign.term.span, message)

    def _made(self, node: Apply, bindings: Bindings, opsets: Opsets) -> list[Signature]:
        found = (self.signatures.of(made.op, opsets) for made in self.nodes.made(node, bindings))
        return [each for each in found if each is not None]

    def _operands_fit(self, node: Apply, signature: Signature, facts: Facts) -> None:
        types: Mapping[str, frozenset[int]] = facts.types
        for position, operand in enumerate(node.operands):
            if not isinstance(operand, (Capture, Apply)):
                if isinstance(operand, Capture):
                    continue
                break
            slot = signature.input(position)
            known = types.get(key_of(operand)) if isinstance(operand, Capture) else None
            if slot is None or not slot.types or known is None or slot.types & known:
                continue
            message = (
                f'input "{slot.name}" of {signature.op} is {type_words(slot.types)}, '
                f"but this is {type_words(known)}"
            )
            self.report.error(operand.span, message)


def rule_conditions(rule: Rule) -> tuple[Expr, ...]:
    """Every condition of a rule; all must hold."""
    return tuple(
        condition
        for clause in rule.clauses
        if isinstance(clause, Where)
        for condition in clause.conditions
    )


def start(pack: Pack, bindings: Bindings) -> Facts:
    """No facts yet, but which names are scalars and which are always there."""
    scalars = frozenset(
        name
        for name, binding in bindings.names.items()
        if binding.role in (Role.ATTRIBUTE, Role.NODE)
    )
    always = frozenset(name for name, binding in bindings.names.items() if not binding.optional)
    return Facts(pack, scalars, always=always)
