"""`qrewrite explain`: why ops stayed in float, and which rules took the others."""

from __future__ import annotations

import argparse

from qrewrite.commands.apply import UsageError
from qrewrite.console import print_json


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="say why ops stayed in float, or which rules took them",
        description=(
            "Apply packs and rules to a model, write nothing, and say of each op beside Q or DQ"
            " that stayed in float which rule came closest and what it needs."
        ),
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model")
    add("--pack", action="append", default=[], metavar="PACK", help="a pack's name or folder")
    add("--rules", action="append", default=[], metavar="FILE", help="a rule file on top")
    add("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of the pack")
    for option in ("--only", "--skip"):
        add(option, action="append", default=[], metavar="rule:GLOB|node:GLOB", help="as in apply")
    add("--allow-python", action="store_true", help="let rule files import Python functions")
    add("--node", metavar="NAME", help="this node alone: its name or that of an output")
    add("--rule", default="", metavar="NAME", help="what keeps this rule from applying")
    add("--fired", action="store_true", help="also list each rewrite with its bindings, in order")
    add("--trace", action="store_true", help="list each rewrite and each match that was refused")
    add("--stop-after", type=int, metavar="N", help="look at the model after N rewrites")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from qrewrite.commands.apply import recipe_of
    from qrewrite.explaining import explain_model
    from qrewrite.explanation_text import fired_lines, lines_of, record
    from qrewrite.progress import progress_line

    if not arguments.pack and not arguments.rules:
        raise UsageError("explain needs --pack PACK or --rules FILE (see qrewrite packs)")
    if arguments.stop_after is not None and arguments.stop_after < 0:
        raise UsageError(f"--stop-after takes 0 or more, not {arguments.stop_after}")
    program = recipe_of(arguments).prepare()
    with progress_line() as progress:
        explainer = explain_model(
            program,
            arguments.model,
            refused=arguments.trace,
            stop_after=arguments.stop_after,
            progress=progress.update,
        )
    listed = arguments.fired or arguments.trace
    if arguments.node:
        found = explainer.node(arguments.node, arguments.model, arguments.rule)
    else:
        found = explainer.whole(arguments.model, arguments.rule, listed)
    if arguments.json:
        print_json(record(found))
    elif arguments.trace:
        print("\n".join(fired_lines(found.fired)))
    else:
        print("\n".join(lines_of(found)).rstrip())
    return 0
