"""All checks of one pack, in order."""

from __future__ import annotations

from ..packs.pack import Pack
from ..syntax import Rule
from .bindings import Bindings
from .claims import Claims
from .collect import Collector
from .compiles import check_compiles
from .declarations import Declarations
from .expressions import Expressions
from .facts import Facts
from .inference import Inference
from .names import Names
from .nodes import Nodes
from .opset_range import OpsetRanges
from .overlap import Overlap
from .report import Report
from .satisfiable import Satisfiable
from .signatures import OLDEST, Opsets, Signatures
from .termination import Termination


class PackChecks:
    """Rules that have an error are left out of what is checked next: no noise from one mistake."""

    def __init__(self, pack: Pack) -> None:
        self.report = Report()
        self.facts: dict[str, Facts] = {}
        """Of every rule without an error: what each of its matches fulfils."""
        self._pack = pack
        self._signatures = signatures = Signatures(pack, Opsets(pack.needs.get("", OLDEST)))
        expressions = Expressions(pack, self.report, signatures)
        self._ranges = OpsetRanges(pack, signatures.opsets)
        self._collector = Collector(pack, self.report)
        self._names = Names(pack, self.report, self._collector, expressions)
        self._nodes = Nodes(pack, self.report, signatures)
        self._declarations = Declarations(pack, self.report, signatures)
        self._claims = Claims(pack, self.report)
        inference = Inference(pack, signatures)
        self._satisfiable = Satisfiable(pack, self.report, signatures, inference, self._nodes)

    def each_rule(self) -> None:
        """What is wrong with a declaration or a rule by itself."""
        before = self.report.errors
        self._declarations.check()
        for op_set in self._pack.op_sets.values():
            self._nodes.ops.op_set(op_set)
        for definition in self._pack.properties.values():
            self._names.property(definition)
            self._nodes.ops.property(definition)
        for guard in self._pack.guards.values():
            self._names.guard(guard)
        for fragment in self._pack.fragments.values():
            self._names.fragment(fragment)
            self._nodes.fragment(fragment)
        declared = self.report.errors == before
        if declared:
            self._declared_can_hold()
        for each in self._pack.rules:
            self._rule(each.rule, declared)
        Termination(self._pack, self.report, self._signatures, self.facts).check()

    def _declared_can_hold(self) -> None:
        for guard in self._pack.guards.values():
            self._satisfiable.guard(guard)
        for fragment in self._pack.fragments.values():
            self._satisfiable.fragment(fragment)

    def _rule(self, rule: Rule, declared: bool) -> None:
        before = self.report.errors
        if rule.arrow != "=>":
            message = f'rule "{rule.name}" is reversible (<=>), which is not supported'
            self.report.error(rule.name_span, message, "write two rules with =>")
        bindings = self._collector.of_rule(rule.pattern)
        scope = self._names.rule(rule, bindings, self.report.errors == before)
        opsets = self._ranges.of(rule)
        if opsets.least > opsets.most:
            opsets = self._signatures.opsets  # reported below: it can never match
        self._nodes.rule(rule, bindings, opsets)
        self._claims.rule(rule, bindings)
        if self.report.errors == before:
            self._names.unused(rule, bindings, scope)
        if self.report.errors == before and declared:
            self._fits(rule, bindings, opsets)

    def _fits(self, rule: Rule, bindings: Bindings, opsets: Opsets) -> None:
        before = self.report.errors
        facts = self._satisfiable.rule(rule, bindings, opsets)
        if self.report.errors == before:
            self._claims.fitting(rule, facts)
        if self.report.errors == before:
            self.facts[rule.name] = facts

    def rules_together(self) -> None:
        """What is wrong with rules beside each other."""
        Termination(self._pack, self.report, self._signatures, self.facts).marked()
        check_compiles(self._pack, self.report, self.facts)
        Overlap(self._pack, self.report, self._signatures, self.facts).check()
