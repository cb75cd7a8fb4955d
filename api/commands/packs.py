"""`qrewrite packs`: which packs there are, and what is in one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from qrewrite.console import Table, print_json, print_table

if TYPE_CHECKING:
    from qrewrite.patterns.packs.pack import Pack


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "packs",
        help="list the packs, or show one with its rules",
        description="List the packs that ship or are installed, or show one with its rules.",
    )
    parser.add_argument("pack", nargs="?", metavar="PACK", help="a pack's name or folder")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print the pack's page")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.pack is None:
        _print_list(arguments.json)
    else:
        _print_pack(arguments)
    return 0


def _print_list(as_json: bool) -> None:
    from qrewrite.patterns.packs.find import known_packs
    from qrewrite.patterns.packs.load import load_pack

    rows = [(known, load_pack(known.name)) for known in known_packs()]
    if as_json:
        print_json(
            [
                {
                    "name": known.name,
                    "title": pack.title,
                    "rules": len(pack.rules),
                    "origin": known.origin,
                    "folder": str(known.folder),
                }
                for known, pack in rows
            ]
        )
        return
    cells = [(known.name, str(len(pack.rules)), known.origin, pack.title) for known, pack in rows]
    print_table(Table(("pack", "rules", "from", "for"), tuple(cells), frozenset({1})))


def _print_pack(arguments: argparse.Namespace) -> None:
    from qrewrite.pages import pack_page
    from qrewrite.patterns.packs.load import load_pack

    pack = load_pack(arguments.pack)
    if arguments.markdown:
        print(pack_page(pack), end="")
    elif arguments.json:
        print_json(_record(pack))
    else:
        _print_tables(pack)


def _print_tables(pack: Pack) -> None:
    from qrewrite.pages import claim_of, shown

    print(f"{pack.name}: {pack.title}")
    if pack.options:
        print()
        options = [
            (name, shown(option.default), ", ".join(map(shown, option.choices)), option.doc)
            for name, option in pack.options.items()
        ]
        print_table(Table(("option", "default", "values", "meaning"), tuple(options)))
    print()
    rules = [
        (entry.phase, entry.full_name, claim_of(entry.rule), entry.rule.title)
        for phase in pack.phases
        for entry in pack.rules_of(phase)
    ]
    print_table(Table(("phase", "rule", "exactness", "title"), tuple(rules)))


def _record(pack: Pack) -> dict[str, object]:
    from qrewrite.pages import claim_of

    return {
        "name": pack.name,
        "title": pack.title,
        "parents": [name for name in pack.parents if name != pack.name],
        "needs": {domain or "ai.onnx": version for domain, version in pack.needs.items()},
        "phases": list(pack.phases),
        "options": {
            name: {
                "default": option.default,
                "choices": list(option.choices),
                "doc": option.doc,
            }
            for name, option in pack.options.items()
        },
        "rules": [
            {
                "name": entry.full_name,
                "phase": entry.phase,
                "title": entry.rule.title,
                "claim": claim_of(entry.rule),
                "doc": entry.rule.doc,
            }
            for entry in pack.rules
        ],
    }
