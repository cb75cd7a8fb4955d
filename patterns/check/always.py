"""Rules that fire whenever their pattern and conditions hold."""

from __future__ import annotations

from ..syntax import Let, Rule


def always_fires(rule: Rule) -> bool:
    """Nothing but the pattern and its conditions decides whether a rule fires."""
    return (
        not rule.then
        and rule.compare_codes is None
        and not any(isinstance(clause, Let) for clause in rule.clauses)
    )
