"""What `apply` reports of each model: as data for JSON, and as a page of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from qrewrite.console import Table

if TYPE_CHECKING:
    from qrewrite.summary import Summary

QUANTIZE_OPS = ("QuantizeLinear", "DequantizeLinear")

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .2rem .8rem .2rem 0; text-align: left; border-bottom: 1px solid #ddd; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
.error { color: #b00020; }
"""


@dataclass(frozen=True, slots=True)
class Report:
    """Of one model: what was done to it, or the sentence that says why nothing was."""

    model: str
    output: str | None
    pack: str
    options: Mapping[str, bool | int | float | str]
    seconds: float
    """Load, rewrite and save."""
    summary: Summary | None
    error: str = ""


def record(report: Report) -> dict[str, object]:
    """The report as JSON has it."""
    data: dict[str, object] = {
        "model": report.model,
        "output": report.output,
        "pack": report.pack,
        "options": dict(report.options),
        "seconds": round(report.seconds, 3),
    }
    if report.summary is None:
        return data | {"error": report.error}
    summary = report.summary
    fired = [
        {"rule": rule.rule, "title": rule.title, "claim": rule.claim, "times": rule.times}
        for rule in summary.fired
    ]
    made = [{"node": node.node, "op": node.op, "rule": node.rule} for node in summary.made]
    return data | {
        "fired": fired,
        "ops": {"before": dict(summary.before), "after": dict(summary.after)},
        "notes": list(summary.notes),
        "made": made,
    }


def fired_table(summary: Summary) -> Table:
    rows = tuple((rule.rule, str(rule.times), rule.claim) for rule in summary.fired)
    return Table(("rule", "times", "exactness"), rows, frozenset({1}))


def ops_table(summary: Summary) -> Table:
    """The ops whose number changed, most frequent first."""
    before, after = summary.before, summary.after
    changed = [op for op in {**before, **after} if before.get(op, 0) != after.get(op, 0)]
    changed.sort(key=lambda op: (-max(before.get(op, 0), after.get(op, 0)), op))
    rows = tuple((op, str(before.get(op, 0)), str(after.get(op, 0))) for op in changed)
    return Table(("op", "before", "after"), rows, frozenset({1, 2}))


def totals(summary: Summary) -> str:
    """Q/DQ left and nodes, in a line."""
    left = ", ".join(
        f"{summary.after.get(op, 0)} {op} (of {summary.before.get(op, 0)})" for op in QUANTIZE_OPS
    )
    return f"left: {left}; nodes: {summary.nodes_before} before, {summary.nodes_after} after"


def html_page(reports: Sequence[Report]) -> str:
    """A page that needs no other file."""
    body = "\n".join(line for report in reports for line in _section(report))
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8"><title>qrewrite report</title>'
        f"<style>{STYLE}</style></head>\n<body>\n<h1>qrewrite report</h1>\n{body}\n</body></html>\n"
    )


def _section(report: Report) -> Iterator[str]:
    yield f"<h2>{escape(report.model)}</h2>"
    if report.summary is None:
        yield f'<p class="error">{escape(report.error)}</p>'
        return
    options = ", ".join(f"{name}={value}" for name, value in report.options.items())
    yield f"<p>Pack {escape(report.pack)}{escape(f' ({options})' if options else '')}, "
    yield f"written to {escape(report.output or 'no file')}, {report.seconds:.2f} s.</p>"
    yield f"<p>{escape(totals(report.summary))}.</p>"
    for note in report.summary.notes:
        yield f"<p>Re-coded: {escape(note)}</p>"
    yield from _html_table(fired_table(report.summary))
    yield from _html_table(ops_table(report.summary))
    if report.summary.made:
        yield f"<details><summary>{len(report.summary.made)} nodes made by rules</summary>"
        yield from _html_rows(
            ("node", "op", "rule"),
            ((made.node, made.op, made.rule) for made in report.summary.made),
        )
        yield "</details>"


def _html_table(table: Table) -> Iterator[str]:
    yield from _html_rows(table.columns, table.rows, table.numeric)


def _html_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: frozenset[int] = frozenset(),
) -> Iterator[str]:
    kinds = [' class="number"' if index in numeric else "" for index in range(len(columns))]
    yield "<table>"
    for tag, cells in [("th", columns), *(("td", row) for row in rows)]:
        shown = zip(kinds, cells, strict=True)
        yield f"<tr>{''.join(f'<{tag}{kind}>{escape(cell)}</{tag}>' for kind, cell in shown)}</tr>"
    yield "</table>"
