"""A page of Markdown for a pack: what it is for, its options, and every rule with its claim."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

from qrewrite.patterns.packs.pack import Pack, PackRule
from qrewrite.patterns.syntax import Option, Rule, Span


def pack_page(pack: Pack) -> str:
    """The page of a pack; the same pack gives the same page."""
    return "\n".join(_lines(pack)) + "\n"


def _lines(pack: Pack) -> Iterator[str]:
    yield f"# Pack `{pack.name}`"
    yield ""
    yield f"{pack.title}."
    yield ""
    yield from _facts(pack)
    if pack.options:
        yield from _option_table(pack)
    for phase in pack.phases:
        rules = pack.rules_of(phase)
        if rules:
            yield f"## Phase `{phase}`"
            yield ""
            for rule in rules:
                yield from _rule_lines(rule)


def _facts(pack: Pack) -> Iterator[str]:
    parents = [f"`{name}`" for name in pack.parents if name != pack.name]
    if parents:
        yield f"- extends {', '.join(parents)}"
    for domain, version in pack.needs.items():
        yield f"- needs opset `{domain or 'ai.onnx'}` {version} or newer"
    yield f"- phases, in order: {', '.join(f'`{phase}`' for phase in pack.phases)}"
    yield f"- {len(pack.rules)} rules"
    yield ""


def _option_table(pack: Pack) -> Iterator[str]:
    yield "| option | default | values | meaning |"
    yield "|---|---|---|---|"
    for option in pack.options.values():
        default = shown(option.default)
        yield f"| `{option.name}` | `{default}` | {_choices(option)} | {option.doc} |"
    yield ""


def _rule_lines(entry: PackRule) -> Iterator[str]:
    rule = entry.rule
    yield f"### `{entry.full_name}`"
    yield ""
    if rule.title:
        yield f"{rule.title}."
    yield f"*{claim_of(rule)}*"
    if rule.doc:
        yield ""
        yield rule.doc
    yield ""
    yield "```"
    yield text_of(rule.span)
    yield "```"
    yield ""


def claim_of(rule: Rule) -> str:
    """How exact a rule says it is, in its own words."""
    return " ".join(text_of(rule.claim.span).split()) if rule.claim else "no claim"


def text_of(span: Span) -> str:
    """The source text of a span, without the indentation that all its lines share."""
    lines = span.source.text.splitlines()[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = " " * (span.column - 1) + lines[0][span.column - 1 :]
    return dedent("\n".join(lines))


def _choices(option: Option) -> str:
    return ", ".join(f"`{shown(choice)}`" for choice in option.choices) or "any"


def shown(value: bool | int | float | str) -> str:
    """The value of an option, as it is given on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
