"""Hypothesis strategies: models that a rule must match, and models that just miss it."""

from __future__ import annotations

from hypothesis import reject
from hypothesis.strategies import DrawFn, SearchStrategy, composite

from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import Rule

from .case import Case
from .draws import HypothesisDraw
from .expand_pattern import Unsatisfiable
from .generate import matching_case, near_miss


def models_matching(pack: Pack, rule: str, embed: bool = True) -> SearchStrategy[Case]:
    """Models that the rule of that name must match, derived from its pattern and its conditions.

    `embed`: now and then inside a larger graph, with shared nodes, or in the branch of an `If`.
    """
    return _matching(_Subject(pack, _rule(pack, rule)), embed)


def near_misses(pack: Pack, rule: str) -> SearchStrategy[Case]:
    """Models that miss the rule by one condition, or by one use of a value that the pattern owns.

    `Case.broken` says which condition; None: a value is used elsewhere.
    """
    return _missing(_Subject(pack, _rule(pack, rule)))


def _rule(pack: Pack, name: str) -> Rule:
    found = pack.rule(name)
    if found is None:
        raise ValueError(f"pack {pack.name} has no rule {name!r}")
    return found.rule


class _Subject:
    """A rule and its pack, with a short representation: Hypothesis prints dataclasses in full."""

    def __init__(self, pack: Pack, rule: Rule) -> None:
        self.pack = pack
        self.rule = rule

    def __repr__(self) -> str:
        return self.rule.name


@composite
def _matching(draw: DrawFn, subject: _Subject, embed: bool) -> Case:
    try:
        return matching_case(subject.pack, subject.rule, HypothesisDraw(draw), embed)
    except Unsatisfiable:
        reject()


@composite
def _missing(draw: DrawFn, subject: _Subject) -> Case:
    try:
        return near_miss(subject.pack, subject.rule, HypothesisDraw(draw))
    except Unsatisfiable:
        reject()
