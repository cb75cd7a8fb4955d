"""What only compiling a rule shows: forms that the compiler does not take."""

from __future__ import annotations

from collections.abc import Mapping

from ..diagnostics import RuleFileError
from ..packs.pack import Pack
from ..program import compile_pack
from .facts import Facts
from .report import Report


def check_compiles(pack: Pack, report: Report, facts: Mapping[str, Facts]) -> None:
    """Compile every rule that no check has found wrong, without running anything of it."""
    if pack.functions:
        return  # compiling imports the Python functions that a file names
    options = {name: option.default for name, option in pack.options.items()}
    for phase in compile_pack(pack, options):
        for rule in phase.rules:
            if rule.name not in facts:
                continue
            try:
                rule.matcher()
            except RuleFileError as problem:
                place = rule.source.rule.name_span
                for found in problem.diagnostics:
                    report.error(found.span or place, found.message, found.note)
