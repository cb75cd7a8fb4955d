"""Hypothesis strategies: models that a rule must match, and models that just miss it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import reject
from hypothesis.strategies import DrawFn, SearchStrategy, composite

from qrewrite.patterns.pack import Pack
from qrewrite.patterns.syntax import Capture, Rule

from .build_case import build_case, expose, interiors
from .case import Case
from .draws import Draw, HypothesisDraw, chance, pick
from .expand_pattern import Unsatisfiable
from .solve import Solved, solve

ATTEMPTS = 6
"""How often a graph is begun anew when its choices cannot be completed."""


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
    source = HypothesisDraw(draw)
    solved = attempt(subject.pack, subject.rule, source)
    return build_case(solved, source, embed, keep_outputs=not forwards(subject.rule))


@composite
def _missing(draw: DrawFn, subject: _Subject) -> Case:
    return miss(subject.pack, subject.rule, HypothesisDraw(draw))


def forwards(rule: Rule) -> bool:
    """A template gives another value the place of a result: that must not be a graph output."""
    return any(isinstance(made.term, Capture) for made in rule.template)


def attempt(pack: Pack, rule: Rule, draw: Draw, broken: int | None = None) -> Solved:
    """A settled graph after some attempts; tells Hypothesis to try another example if all fail."""
    for _ in range(ATTEMPTS):
        try:
            return solve(pack, rule, draw, broken)
        except Unsatisfiable:
            continue
    reject()


def miss(pack: Pack, rule: Rule, draw: Draw) -> Case:
    """A near miss: conditions are numbered as `all_conditions` gives them."""
    count = sum(len(getattr(clause, "conditions", ())) for clause in rule.clauses) + 2
    index = draw.integer(0, count)
    if index < count:
        return build_case(attempt(pack, rule, draw, index), draw, embed=False)
    solved = attempt(pack, rule, draw)
    case = build_case(solved, draw, embed=False)
    owned = interiors(solved.world)
    if not owned or not chance(draw, 90):
        reject()
    return replace(case, model=expose(case, pick(draw, owned)), elementwise=False)
