"""Checks of a pack before any graph is seen: what is wrong with its rules, and what looks it."""

from __future__ import annotations

from ..diagnostics import Diagnostic
from ..packs.pack import Pack
from .pack_checks import PackChecks
from .remember import load_errors

__all__ = ["check_pack", "load_errors"]


def check_pack(pack: Pack, *, lint: bool = True) -> list[Diagnostic]:
    """Errors and warnings of a pack's rules, in the order of the text; none is repeated.

    Errors make a rule wrong whatever the others do.  ``lint`` adds what is only seen by comparing
    rules with each other: rules that are never reached, that overlap without an order, that undo
    each other.
    """
    checks = PackChecks(pack)
    checks.each_rule()
    if lint:
        checks.rules_together()
    return checks.report.diagnostics()
