"""What a rule promises: every rule makes a claim, about tensors and rules that exist."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from qrewrite.engine.dtypes import FLOATS

from ..diagnostics import did_you_mean
from ..packs.pack import Pack
from ..syntax import Let, Lossy, Rule, WithinQuanta, WithinRelative
from .bindings import Bindings, Role
from .facts import Facts, type_words
from .report import Report
from .roots import produced


@dataclass
class Claims:
    pack: Pack
    report: Report

    def rule(self, rule: Rule, bindings: Bindings) -> None:
        claim = rule.claim
        if claim is None:
            note = "it ends with exact, within K quanta of y, within R relative or lossy within ..."
            self.report.error(rule.name_span, f'rule "{rule.name}" makes no claim', note)
        elif isinstance(claim, (WithinQuanta, Lossy)):
            self._tensor(rule, claim, bindings)
        self._then(rule)
        name = rule.compare_codes
        if name is not None and bindings.role(name) is not Role.VALUE:
            message = f'"compare codes of {name}": the pattern binds no value "{name}"'
            note = did_you_mean(name, bindings.names)
            self.report.error(rule.name_span, message, note)

    def _tensor(self, rule: Rule, claim: WithinQuanta | Lossy, bindings: Bindings) -> None:
        name = claim.tensor
        made = produced(rule)
        computed = {
            key for each in rule.clauses if isinstance(each, Let) for key, _ in each.bindings
        }
        if name in made or (isinstance(claim, Lossy) and name in computed):
            return
        known = [*made, *computed] if isinstance(claim, Lossy) else [*made]
        if name in bindings.names or name in computed:
            what = "a tensor that it makes" if isinstance(claim, Lossy) else "an output of the rule"
            message = f'the claim is about {what}, and "{name}" is none'
            self.report.error(claim.span, message, _one_of(known))
        else:
            message = f'the claim is about "{name}", which is not bound'
            self.report.error(claim.span, message, did_you_mean(name, known) or _one_of(known))

    def _then(self, rule: Rule) -> None:
        for name in rule.then:
            if self.pack.rule(name) is None:
                names = [each.name for each in self.pack.rules]
                message = f'"then {name}": the pack has no rule "{name}"'
                self.report.error(rule.name_span, message, did_you_mean(name, names))
            elif name == rule.name:
                self.report.error(rule.name_span, f'"then {name}": a rule cannot wait for itself')

    def fitting(self, rule: Rule, facts: Facts) -> None:
        """A claim in quanta is about codes, a relative one about floats."""
        claim = rule.claim
        if isinstance(claim, WithinQuanta):
            types = facts.types.get(claim.tensor)
            if types and types <= FLOATS:
                message = f'"{claim.tensor}" is {type_words(types)}, which has no quanta'
                self.report.error(claim.span, message, "say: within R relative")
        elif isinstance(claim, WithinRelative):
            outputs = [facts.types.get(name) for name in sorted(produced(rule))]
            if outputs and all(types is not None and not types & FLOATS for types in outputs):
                message = "a relative claim is about floats, and no output of the rule is one"
                self.report.error(claim.span, message, "say: within K quanta of y")


def _one_of(names: Iterable[str]) -> str:
    known = sorted(names)
    return f"it can be about {', '.join(known)}" if known else ""
