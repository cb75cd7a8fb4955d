"""Checks of a pack before any graph is seen: what is wrong with its rules, and what looks it."""

from __future__ import annotations

from ..diagnostics import Diagnostic
from ..pack import Pack
from .bindings import Collector
from .expressions import Expressions
from .names import Names
from .nodes import Nodes
from .report import Report
from .signatures import Opsets, Signatures


def check_pack(pack: Pack, *, lint: bool = True) -> list[Diagnostic]:
    report = Report()
    collector = Collector(pack, report)
    signatures = Signatures(pack, Opsets(pack.needs.get("", 10)))
    names = Names(pack, report, collector, Expressions(pack, report, signatures))
    nodes = Nodes(pack, report, signatures)
    for op_set in pack.op_sets.values():
        nodes.ops.op_set(op_set)
    for fragment in pack.fragments.values():
        names.fragment(fragment)
        nodes.fragment(fragment)
    for guard in pack.guards.values():
        names.guard(guard)
    for definition in pack.properties.values():
        names.property(definition)
        nodes.ops.property(definition)
    for each in pack.rules:
        names.rule(each.rule)
        nodes.rule(each.rule, collector.of_rule(each.rule.pattern))
    return report.diagnostics()
