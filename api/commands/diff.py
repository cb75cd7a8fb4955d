"""`qrewrite diff`: how two models differ, in structure and in numbers."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qrewrite.console import Table, print_json, print_table

if TYPE_CHECKING:
    from qrewrite.diff_numbers import Numbers
    from qrewrite.diff_structure import Structure

_SHOWN = 10
"""Nodes that are listed of each kind; JSON has all."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "diff",
        help="say how two models differ",
        description=(
            "Compare two models: their structure, whatever their nodes and inner values are called,"
            " and the numbers they compute. Exit status 1 if they differ."
        ),
    )
    add = parser.add_argument
    add("first", metavar="A", help="a model")
    add("second", metavar="B", help="another")
    add("--inputs", metavar="FILE.npz", help="inputs by name (default: random ones)")
    add("--seed", type=int, default=0, metavar="N", help="of the random inputs (0)")
    add("--structure", action="store_true", help="do not run the models")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from qrewrite.diff_numbers import numbers, random_inputs
    from qrewrite.diff_structure import structure

    found = structure(arguments.first, arguments.second)
    outputs: Sequence[Numbers] = ()
    if not arguments.structure:
        given = arguments.inputs
        inputs = _read(given) if given else random_inputs(arguments.first, arguments.seed)
        outputs = numbers(arguments.first, arguments.second, inputs)
    if arguments.json:
        data = {
            "structure": dataclasses.asdict(found),
            "numbers": [dataclasses.asdict(each) for each in outputs],
        }
        print_json(data)
    else:
        _print(found, outputs, arguments.structure)
    same = found.is_empty and not any(each.share for each in outputs)
    return 0 if same else 1


def _read(path: str) -> Mapping[str, Any]:
    from qrewrite.npz import read_npz

    return {name.rpartition("|")[2]: array for name, array in read_npz(path).items()}


def _print(found: Structure, outputs: Sequence[Numbers], only_structure: bool) -> None:
    for kind in ("inputs", "outputs"):
        for line in getattr(found, kind):
            print(f"{kind[:-1]} {line}")
    if found.ops:
        rows = tuple((op, str(before), str(after)) for op, before, after in found.ops)
        print_table(Table(("op", "in A", "in B"), rows, frozenset({1, 2})))
    kinds = (("only in A", found.removed), ("only in B", found.added), ("changed", found.changed))
    for title, nodes in kinds:
        if nodes:
            print(f"\n{len(nodes)} node{'s' * (len(nodes) != 1)} {title}:")
            print("\n".join(f"  {name}" for name in nodes[:_SHOWN]))
            if len(nodes) > _SHOWN:
                print(f"  and {len(nodes) - _SHOWN} more")
    if found.is_empty:
        print(f"the structure is the same: {found.same} nodes")
    if only_structure:
        return
    print()
    deviations = tuple(
        (
            each.output,
            f"{each.largest:.6g}",
            f"{each.mean:.3g}",
            f"{each.share:.2%}",
            f"{each.cosine:.6f}",
        )
        for each in outputs
    )
    head = ("output", "largest", "mean", "differ", "cosine")
    print_table(Table(head, deviations, frozenset({1, 2, 3, 4})))
