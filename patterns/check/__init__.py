"""Checks of a pack before any graph is seen: what is wrong with its rules, and what looks it."""

from __future__ import annotations

from pathlib import Path

from ..diagnostics import Diagnostic, RuleFileError
from ..load_pack import load_file
from ..pack import Pack
from .pack_checks import PackChecks

__all__ = ["check_file", "check_pack"]


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


def check_file(path: str | Path) -> list[Diagnostic]:
    """Errors and warnings of a rule file, or of the pack in a folder, and of nothing beside it."""
    try:
        pack = load_file(path)
    except RuleFileError as problem:
        return list(problem.diagnostics)
    return check_pack(pack)
