"""Rules that may go on for ever: those that do not shrink the measure, or undo each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..packs.pack import Pack
from ..syntax import Rule, Term
from .always import always_fires
from .assume import implied
from .covers import Covers, single_term
from .facts import Facts
from .measure import NOTHING, Counter, Measure, plus
from .report import Report
from .satisfiable import rule_conditions
from .signatures import Signatures


@dataclass
class Termination:
    pack: Pack
    report: Report
    signatures: Signatures
    facts: Mapping[str, Facts]

    def __post_init__(self) -> None:
        self._counter = Counter(self.pack, self.signatures)
        self._rules = {
            name: each.rule for each in self.pack.rules for name in (each.name, each.full_name)
        }

    def check(self) -> None:
        """A rule that does not shrink the measure says so with ``expands``."""
        rules = [each.rule for each in self.pack.rules if each.name in self.facts]
        undone: set[str] = set()
        for rule in rules:
            if rule.name not in undone and not rule.expands and not self._shrinks(rule):
                other = self._undoing(rule, rules)
                self._endless(rule, other)
                undone.update(() if other is None else (other.name,))

    def _endless(self, rule: Rule, other: Rule | None) -> None:
        message = f'rule "{rule.name}" does not shrink the graph, so it may never end'
        note = (
            "it leaves as many Q and DQ, float ops, nodes and float constants; "
            f"if that is meant, write: rule {rule.name} expands"
        )
        if other is not None:
            message, note = _endless_pair(rule, other), ""
        self.report.error(rule.name_span, message, note)

    def marked(self) -> None:
        """Rules marked ``expands`` that make what is taken apart again: only a bound ends them."""
        rules = [each.rule for each in self.pack.rules if each.name in self.facts]
        known: set[str] = set()
        for rule in rules:
            if rule.expands and rule.name not in known and not self._shrinks(rule):
                other = self._undoing(rule, rules)
                if other is not None:
                    known.add(other.name)
                    self.report.warning(rule.name_span, _endless_pair(rule, other))

    def _undoing(self, rule: Rule, rules: Sequence[Rule]) -> Rule | None:
        """A rule, maybe the same one, that matches what this one makes, and the other way round."""
        for other in rules:
            if self._makes_match_of(rule, other) and self._makes_match_of(other, rule):
                return other
        return None

    def _shrinks(self, rule: Rule) -> bool:
        return all(change < NOTHING for change in self._changes(rule, frozenset()))

    def _changes(self, rule: Rule, seen: frozenset[str]) -> list[Measure]:
        """The changes by a rule and by the one that must follow it, the least of those."""
        own = self._counter.changes(rule)
        following = [
            self._changes(self._rules[name], seen | {rule.name})
            for name in rule.then
            if name in self._rules and name not in seen and name != rule.name
        ]
        if not following:
            return list(own)
        least = [max(changes) for changes in zip(*following, strict=True)]
        return [plus(change, more) for change, more in zip(own, least, strict=True)]

    def _makes_match_of(self, rule: Rule, other: Rule) -> bool:
        """What one rule makes the other one matches, whenever the first has fired."""
        pattern, made = single_term(other), _made(rule)
        if pattern is None or made is None or not always_fires(other):
            return False
        covers = Covers(self.pack, self.signatures)
        facts = self.facts[rule.name]
        for names in covers.terms(pattern[1], made[1], {pattern[0]: made[0]}):
            if all(implied(facts, each, names) for each in rule_conditions(other)):
                return True
        return False


def _endless_pair(rule: Rule, other: Rule) -> str:
    if rule is other:
        return f'rule "{rule.name}" matches what it makes, so it never ends'
    return f'rules "{rule.name}" and "{other.name}" undo each other, so they never end'


def _made(rule: Rule) -> tuple[str, Term] | None:
    """The output and the term of a template that is one tree."""
    if len(rule.template) != 1 or len(rule.template[0].targets) != 1:
        return None
    return rule.template[0].targets[0].name, rule.template[0].term
