"""Rules that are never reached, and rules of which nothing says which one goes first.

Both are reported only where the text proves them: see covers.py for what is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from ..pack import Pack, PackRule
from ..specificity import rule_order
from ..syntax import Apply, Call, Capture, Expr, Let, Rule
from .covers import MISSING, Covers, Names
from .facts import Facts, implied
from .report import Report
from .satisfiable import rule_conditions
from .signatures import Signatures
from .unify import Unify
from .walk import names_in, nodes, subexpressions


@dataclass
class Overlap:
    pack: Pack
    report: Report
    signatures: Signatures
    facts: Mapping[str, Facts]
    """By name: what every match of a rule fulfils; rules that have an error are not there."""
    _ordered: dict[str, tuple[int, int, int, str]] = field(default_factory=dict)

    def check(self) -> None:
        for phase in self.pack.phases:
            rules = [each for each in self.pack.rules_of(phase) if each.name in self.facts]
            rules.sort(key=lambda each: rule_order(each, self.pack))
            hidden = set()
            for first, second in combinations(rules, 2):
                if second.name in hidden or not self._share_ops(first.rule, second.rule):
                    continue
                if self._shadows(first.rule, second.rule):
                    hidden.add(second.name)
                    self._shadowed(first, second)
                elif rule_order(first, self.pack)[:3] == rule_order(second, self.pack)[:3]:
                    self._unordered(first, second)

    def _share_ops(self, first: Rule, second: Rule) -> bool:
        """A cheap test that two patterns may have a node in common."""
        return bool(self._ops(first) & self._ops(second))

    def _ops(self, rule: Rule) -> frozenset[str]:
        return frozenset(
            op
            for statement in rule.pattern
            for node in nodes(statement.term)
            for op in self.signatures.ops_of(node) or ()
        ) if all(hasattr(each, "term") for each in rule.pattern) else frozenset()

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
        if not _always_fires(first):
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
            other.assume(condition, names)
            together.assume(condition, names)
        together.settle()
        if together.wrong:
            return False
        here = _opaque(one)
        there = _opaque(other)
        return here <= there or there <= here


def _opaque(facts: Facts) -> frozenset[tuple[str, bool]]:
    """What is known as text alone."""
    return frozenset(facts.truths.items()) | frozenset((text, True) for text in facts.open)


def _always_fires(rule: Rule) -> bool:
    """Nothing but the pattern and its conditions decides whether a rule fires."""
    return (
        not rule.then
        and rule.compare_codes is None
        and not any(isinstance(clause, Let) for clause in rule.clauses)
    )


def _asks_presence(condition: Expr) -> bool:
    return any(
        isinstance(each, Call) and each.function == "present"
        for each in subexpressions(condition)
    )


def _accepts(
    node: Apply,
    inputs: Iterable[object],
    types: Mapping[str, frozenset[int]],
    names: Names,
) -> bool:
    for operand, slot in zip(node.operands, inputs, strict=False):
        allowed = getattr(slot, "types", frozenset())
        if isinstance(operand, Capture) and operand.part is None and allowed:
            known = types.get(names.get(operand.name, operand.name))
            if known is None or not known <= allowed:
                return False
    return True


