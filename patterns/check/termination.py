"""Rules that may go on for ever: those that do not shrink the measure, or undo each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..pack import Pack
from ..syntax import Rule, Term
from .covers import Covers, single_term
from .facts import Facts, implied
from .measure import NOTHING, SETTINGS, Counter, Measure, Setting, plus
from .report import Report
from .satisfiable import rule_conditions
from .signatures import Signatures


@dataclass
class Termination:
    pack: Pack
    report: Report
    signatures: Signatures
    facts: Mapping[str, Facts]

    def rule(self, rule: Rule) -> None:
        """A rule that does not shrink the measure says so with ``expands``."""
        if rule.expands or self._shrinks(rule):
            return
        if self._makes_match_of(rule, rule):
            message = f'rule "{rule.name}" matches what it makes, so it never ends'
            self.report.error(rule.name_span, message)
            return
        message = f'rule "{rule.name}" does not shrink the graph, so it may never end'
        note = (
            "it leaves as many Q and DQ, float ops, nodes and float constants; "
            f'if that is meant, write: rule {rule.name} expands'
        )
        self.report.error(rule.name_span, message, note)

    def together(self) -> None:
        """Rules one of which makes what the other one takes apart."""
        rules = [each.rule for each in self.pack.rules if each.name in self.facts]
        growing = [rule for rule in rules if rule.expands and not self._shrinks(rule)]
        for rule in growing:
            for other in rules:
                if self._makes_match_of(rule, other) and self._makes_match_of(other, rule):
                    self._undone(rule, other)
                    break

    def _undone(self, rule: Rule, other: Rule) -> None:
        if rule is other:
            message = f'rule "{rule.name}" matches what it makes: it goes on until it is stopped'
        else:
            message = f'rules "{rule.name}" and "{other.name}" undo each other'
        self.report.warning(rule.name_span, message)

    def _shrinks(self, rule: Rule) -> bool:
        counter = Counter(self.pack, self.signatures)
        return all(
            self._change(rule, setting, counter, frozenset()) < NOTHING for setting in SETTINGS
        )

    def _change(
        self, rule: Rule, setting: Setting, counter: Counter, seen: frozenset[str]
    ) -> Measure:
        """The change by a rule and by the one that must follow it, the least shrinking of those."""
        own = counter.change(rule, setting)
        following = [self.pack.rule(name) for name in rule.then]
        changes = [
            self._change(each.rule, setting, counter, seen | {rule.name})
            for each in following
            if each is not None and each.name not in seen and each.name != rule.name
        ]
        return plus(own, max(changes)) if changes else own

    def _makes_match_of(self, rule: Rule, other: Rule) -> bool:
        """What the template of one rule makes is matched by the other whenever the first one fired."""
        pattern, made = single_term(other), _made(rule)
        if pattern is None or made is None:
            return False
        covers = Covers(self.pack, self.signatures)
        facts = self.facts[rule.name]
        for names in covers.terms(pattern[1], made[1], {pattern[0]: made[0]}):
            if all(implied(facts, each, names) for each in rule_conditions(other)):
                return True
        return False


def _made(rule: Rule) -> tuple[str, Term] | None:
    """The output and the term of a template that is one tree."""
    if len(rule.template) != 1 or len(rule.template[0].targets) != 1:
        return None
    return rule.template[0].targets[0].name, rule.template[0].term
