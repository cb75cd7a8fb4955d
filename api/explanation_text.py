"""An explanation as text: 80 columns, no colour, the answer first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from qrewrite.explaining import Explanation, Fired
from qrewrite.patterns.explain.blocked import Blocked
from qrewrite.patterns.explain.cause import Cause, Kind
from qrewrite.patterns.explain.tree import cut, drawn

Packs = tuple[str, ...]
WIDTH = 80
_NAMED = 3
"""Nodes of a group that are named; JSON has all."""


def record(explanation: Explanation) -> dict[str, Any]:
    """As plain data, for JSON."""
    data = dataclasses.asdict(explanation)
    data["known_by"] = {op: list(packs) for op, packs in explanation.known_by}
    data["beside"] = {op: list(rules) for op, rules in explanation.beside}
    for fired in data["fired"]:
        fired["bindings"] = dict(fired["bindings"])
    plain: dict[str, Any] = _plain(data)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Kind):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def lines_of(explanation: Explanation) -> Iterator[str]:
    """A line for each cause, then each at length."""
    groups = explanation.blocked
    known, beside = dict(explanation.known_by), dict(explanation.beside)
    if explanation.model:
        yield from _wrapped(_headline(explanation), "")
        yield ""
    if len(groups) > 1:
        for number, group in enumerate(groups, 1):
            yield cut(f"{f'[{number}]':>5} {_summary(group)}", WIDTH)
        yield ""
    for number, group in enumerate(groups, 1):
        yield from _group(group, number if len(groups) > 1 else 0, known, beside)
        yield ""
    yield from fired_lines(explanation.fired)


def _headline(explanation: Explanation) -> str:
    stayed, ops = explanation.stayed, explanation.ops
    if not ops:
        return f"{explanation.model}   (pack {explanation.pack})"
    what = f"{stayed} of {ops} ops beside Q or DQ stayed in float"
    causes = len(explanation.blocked)
    why = f", for {causes} cause{'s' * (causes != 1)}" if causes else ""
    return f"{explanation.model}: {what}{why}   (pack {explanation.pack})"


def _summary(group: Blocked) -> str:
    count = f"{len(group.nodes)} {group.op}"
    cause = group.cause
    if cause is None:
        return f"{count}: no rule takes it"
    innermost = cause
    while innermost.behind is not None:
        innermost = innermost.behind
    fact = f": {innermost.facts[0]}" if innermost.facts else ""
    if innermost.kind is Kind.REFUSED:
        return f"{count}: {innermost.rule} is refused{fact}"
    return f"{count}: {innermost.rule} needs {innermost.words}{fact}"


def _unmentioned(op: str, rules: Sequence[str]) -> str:
    if not rules:
        return f"no rule of the pack mentions {op}"
    return f"no rule of the pack takes {op} without another op beside it: {_names(rules)}"


def _group(
    group: Blocked, number: int, known: Mapping[str, Packs], beside: Mapping[str, Packs]
) -> Iterator[str]:
    head = f"[{number}] " if number else ""
    yield from _wrapped(f"{head}{len(group.nodes)} x {group.op}: {_names(group.nodes)}", "    ", "")
    if group.cause is None:
        yield from _wrapped(_unmentioned(group.op, beside.get(group.op, ())), "    ")
        packs = known.get(group.op, ())
        others = f"these packs do: {', '.join(packs)}" if packs else "no other known pack does"
        yield from _wrapped(others, "    ")
        return
    yield from _cause(group.cause, "    ")
    for rule, said in group.also:
        yield from _wrapped(f"also    {rule} needs {said}", "            ", "    ")


def _names(nodes: Sequence[str]) -> str:
    shown = ", ".join(nodes[:_NAMED])
    return f"{shown} and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else shown


def _cause(cause: Cause, indent: str) -> Iterator[str]:
    inner = f"{indent}        "
    yield from _wrapped(f'rule    {cause.rule} "{cause.title}"', inner, indent)
    facts = cause.facts
    if cause.kind is Kind.APPLIES:
        yield f"{indent}        nothing stands in its way"
    elif cause.kind is Kind.REFUSED:
        yield from _wrapped(f"refused {'; '.join(facts)}", inner, indent)
        facts = ()
    else:
        yield from _wrapped(f"needs   {cause.words}", inner, indent)
        if cause.within:
            yield from _wrapped(f"of      {cause.within}", inner, indent)
    for position, fact in enumerate(facts):
        yield from _wrapped(f"{'has' if not position else '':<8}{fact}", inner, indent)
    yield f"{indent}at      {cause.place}"
    if cause.hint:
        yield from _wrapped(f"hint    {cause.hint}", inner, indent)
    if cause.behind is None:
        for line in drawn(cause.tree, WIDTH - len(inner)):
            yield f"{inner}{line}".rstrip()
    else:
        yield from _wrapped("The rule that came closest behind it:", inner, inner)
        yield from _cause(cause.behind, inner)


def fired_lines(fired: Sequence[Fired]) -> Iterator[str]:
    """The rewrites in their order, with the rule's names and the graph's."""
    for each in fired:
        number = f"{each.number:>4}" if each.applied else "   -"
        refused = "" if each.applied else "  (matched, not applied)"
        where = f"{each.op} {each.node}{refused}"
        phase = f"{each.phase}: " if each.phase else ""
        yield from _wrapped(f"{number} {phase}{each.rule} at {where}", "       ", "")
        bindings = ", ".join(f"{name} = {value}" for name, value in each.bindings)
        if bindings:
            yield from _wrapped(bindings, "       ")


def _wrapped(text: str, indent: str, first: str | None = None) -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
