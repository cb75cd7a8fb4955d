"""For the pytest suite of a pack: its rules by name, and an assertion that one holds."""

from __future__ import annotations

from pathlib import Path

from qrewrite.loading import load_pack
from qrewrite.patterns.packs.pack import Pack

from .rule_report import Report, Verdict
from .verify_rule import Effort, verify_rule


def rule_names(pack: str | Path) -> list[str]:
    """The full names of the rules that the pack itself adds, those of its parents left out."""
    loaded = load_pack(pack)
    own = [rule.full_name for rule in loaded.rules if rule.pack == loaded.name]
    return own or [rule.full_name for rule in loaded.rules]


def assert_rule_holds(
    pack: str | Path | Pack, rule: str, examples: int = 200, seed: int = 0
) -> Report:
    """Verify one rule; AssertionError with the reason if it is wrong or cannot be tested.

    With fewer than 50 examples it is not asked that every alternative of the rule was reached.
    """
    loaded = pack if isinstance(pack, Pack) else load_pack(pack)
    report = verify_by_name(loaded, rule, examples, seed)
    assert report.verdict is Verdict.HOLDS, f"{rule}: {report.verdict.value}: {report.reason}"
    return report


def verify_by_name(pack: Pack, rule: str, examples: int = 200, seed: int = 0) -> Report:
    """Verify one rule, whatever comes of it; ValueError if the pack has none of that name."""
    entry = pack.rule(rule)
    if entry is None:
        raise ValueError(f"pack {pack.name} has no rule {rule!r}")
    return verify_rule(pack, entry, Effort(examples, seed))
