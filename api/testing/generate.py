"""Models that a rule must match, and models that just miss it, by whatever draws the choices."""

from __future__ import annotations

from dataclasses import replace

from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import Capture, Rule

from .build_case import build_case, expose, interiors
from .case import Case
from .draws import Draw, chance, pick
from .expand_pattern import Unsatisfiable
from .solve import Solved, solve

ATTEMPTS = 6
"""How often a graph is begun anew when its choices cannot be completed."""


def matching_case(pack: Pack, rule: Rule, draw: Draw, embed: bool = True) -> Case:
    """A model that the rule must match; raises Unsatisfiable."""
    solved = attempt(pack, rule, draw)
    return build_case(solved, draw, embed, keep_outputs=not forwards(rule))


def near_miss(pack: Pack, rule: Rule, draw: Draw) -> Case:
    """A model that misses the rule by one condition, numbered as `all_conditions` gives them, or by
    a use of a value that the pattern owns; raises Unsatisfiable."""
    count = sum(len(getattr(clause, "conditions", ())) for clause in rule.clauses) + 2
    index = draw.integer(0, count)
    if index < count:
        return build_case(attempt(pack, rule, draw, index), draw, embed=False)
    solved = attempt(pack, rule, draw)
    case = build_case(solved, draw, embed=False)
    owned = interiors(solved.world)
    if not owned or not chance(draw, 90):
        raise Unsatisfiable("the pattern owns no value that could be used elsewhere")
    return replace(case, model=expose(case, pick(draw, owned)), elementwise=False)


def attempt(pack: Pack, rule: Rule, draw: Draw, broken: int | None = None) -> Solved:
    """A settled graph after some attempts; raises Unsatisfiable if all fail."""
    for _ in range(ATTEMPTS - 1):
        try:
            return solve(pack, rule, draw, broken)
        except Unsatisfiable:
            continue
    return solve(pack, rule, draw, broken)


def forwards(rule: Rule) -> bool:
    """A template gives another value the place of a result: that must not be a graph output."""
    return any(isinstance(made.term, Capture) for made in rule.template)
