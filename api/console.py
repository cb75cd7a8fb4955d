"""What the commands print: tables for people, plain when the output is no terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under column heads; cells of `numeric` columns stand flush right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


def print_table(table: Table) -> None:
    """Print to stdout: ruled and coloured on a terminal, aligned plain text elsewhere."""
    if sys.stdout.isatty():
        _print_rich(table)
    else:
        print("\n".join(plain_lines(table)))


def plain_lines(table: Table) -> list[str]:
    rows = [table.columns, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
    return ["  ".join(_aligned(row, widths, table.numeric)).rstrip() for row in rows]


def _aligned(row: Sequence[str], widths: Sequence[int], numeric: frozenset[int]) -> list[str]:
    return [
        cell.rjust(width) if column in numeric else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _print_rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, head in enumerate(table.columns):
        shown.add_column(head, justify="right" if column in table.numeric else "left")
    for row in table.rows:
        # Text, not markup: names of rules and nodes may hold square brackets.
        shown.add_row(*(Text(cell) for cell in row))
    Console().print(shown)


def print_json(data: Mapping[str, object] | Sequence[object]) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))
