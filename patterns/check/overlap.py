"""Rules that are never reached, and rules of which nothing says which one goes first.

Both are reported only where the text proves them: see covers.py for what is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from qrewrite.engine.schemas.schema import Parameter

from ..packs.pack import Pack, PackRule
from ..packs.specificity import rule_order
from ..syntax import Alternatives, Apply, Arity, Call, Capture, Expr, Presence, Rule
from .always import always_fires
from .assume import assume, implied
from .covers import MISSING, Covers, Names, single_term
from .facts import Facts
from .report import Report
from .satisfiable import rule_conditions
from .signatures import Signatures
from .unify import Unify
from .walk import names_in, nodes, subexpressions, subterms


@dataclass
class Overlap:
    pack: Pack
    report: Report
    signatures: Signatures
    facts: Mapping[str, Facts]
    """By name: what every match of a rule fulfils; rules that have an error are not there."""

    def check(self) -> None:
        for phase in self.pack.phases:
            rules = [each for each in self.pack.rules_of(phase) if each.name in self.facts]
            order = {each.name: rule_order(each, self.pack) for each in rules}
            ops = {each.name: self._ops(each.rule) for each in rules}
            rules.sort(key=lambda each: order[each.name])
            hidden = set()
            for first, second in combinations(rules, 2):
                here, there = ops[first.name], ops[second.name]
                if second.name in hidden or (here and there and not here & there):
                    continue
                if self._shadows(first.rule, second.rule):
                    hidden.add(second.name)
                    self._shadowed(first, second)
                elif order[first.name][:3] == order[second.name][:3]:
                    self._unordered(first, second)

    def _ops(self, rule: Rule) -> frozenset[str]:
        """Ops of which each match of the rule has one: rules without one in common never meet.

        Empty where that is not plain; only what is no fragment is looked at.
        """
        tree = single_term(rule)
        if tree is None or any(isinstance(term, Alternatives) for term in subterms(tree[1])):
            return frozenset()
        for node in nodes(tree[1]):
            once = node.presence is Presence.ONCE and node.arity is Arity.ONE
            ops = self.signatures.ops_of(node)
            if ops and once:
                return frozenset(ops)
        return frozenset()

    # -- shadowed

    def _shadowed(self, first: PackRule, second: PackRule) -> None:
        why = "it has a higher priority"
        if first.rule.priority == second.rule.priority:
            why = "it goes first"
        message = (
            f'rule "{second.name}" is never reached: '
            f'"{first.name}" matches all that it matches, and {why}'
        )
        place = first.rule.name_span
        note = f"the other is at {place.source.name}:{place.line}:{place.column}"
        self.report.error(second.rule.name_span, message, note)

    def _shadows(self, first: Rule, second: Rule) -> bool:
        if not always_fires(first):
            return False
        covers = Covers(self.pack, self.signatures)
        return any(
            self._implied(first, second, names) and self._types_fit(first, second, names)
            for names in covers.rules(first, second)
        )

    def _implied(self, first: Rule, second: Rule, names: Names) -> bool:
        facts = self.facts[second.name]
        for condition in rule_conditions(first):
            if any(names.get(name) == MISSING for name in names_in(condition)):
                if _asks_presence(condition):
                    return False
                continue
            if not implied(facts, condition, names):
                return False
        return True

    def _types_fit(self, first: Rule, second: Rule, names: Names) -> bool:
        """The first rule's template is not refused for the type of what it is given."""
        types = self.facts[second.name].types
        for assign in first.template:
            for node in nodes(assign.term):
                for signature in self.signatures.of_node(node):
                    if not _accepts(node, signature.inputs, types, names):
                        return False
        return True

    # -- no order

    def _unordered(self, first: PackRule, second: PackRule) -> None:
        if first.rule.then != second.rule.then:
            return  # what must follow decides between them
        unify = Unify(self.pack, self.signatures)
        for names in unify.rules(first.rule, second.rule):
            if self._both(first.rule, second.rule, names):
                one, other = sorted((first, second), key=lambda each: each.name)
                message = (
                    f'"{one.name}" and "{other.name}" can match the same node, '
                    "and nothing says which goes first"
                )
                note = f"give one of them a priority, as in rule {other.name} priority 1"
                self.report.error(other.rule.name_span, message, note)
                return

    def _both(self, first: Rule, second: Rule, names: Names) -> bool:
        """Some graph fulfils the conditions of both."""
        one = self.facts[first.name]
        other = Facts(self.pack, one.scalars | set(names.values()))
        together = one.copy()
        for condition in rule_conditions(second):
            assume(other, condition, names)
            assume(together, condition, names)
        together.settle()
        if together.wrong:
            return False
        here = _opaque(one)
        there = _opaque(other)
        return here <= there or there <= here


def _opaque(facts: Facts) -> frozenset[tuple[str, bool]]:
    """What is known as text alone."""
    return frozenset(facts.truths.items()) | frozenset((text, True) for text in facts.open)


def _asks_presence(condition: Expr) -> bool:
    return any(
        isinstance(each, Call) and each.function == "present" for each in subexpressions(condition)
    )


def _accepts(
    node: Apply,
    inputs: Iterable[Parameter],
    types: Mapping[str, frozenset[int]],
    names: Names,
) -> bool:
    for operand, slot in zip(node.operands, inputs, strict=False):
        if isinstance(operand, Capture) and operand.part is None and slot.types:
            known = types.get(names.get(operand.name, operand.name))
            if known is None or not known <= slot.types:
                return False
    return True
