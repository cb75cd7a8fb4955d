"""From lark's tree to the items of a rule file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lark import Token

from ..diagnostics import failure
from ..syntax import (
    Claim,
    Clause,
    Exact,
    Include,
    Item,
    Let,
    Lossy,
    Phase,
    PythonImport,
    Rule,
    Source,
    Where,
    WithinQuanta,
    WithinRelative,
)
from .declarations import (
    guard,
    op_declaration,
    op_set,
    pack_header,
    pattern_declaration,
    property_declaration,
)
from .expressions import (
    Branch,
    Child,
    branches,
    expression,
    number,
    span_of,
    string,
    strings,
    tokens,
)
from .terms import assign, statement

DEFAULT_SHARE = 0.1
"""The share of elements that ``within k quanta`` lets move where it does not say."""
STATEMENTS = ("assign", "each_use", "some_use", "no_use", "connected")
CLAIMS = ("exact", "within_quanta", "within_relative", "lossy")


def item(branch: Branch, source: Source) -> Item:
    """The item of a branch.

    Raises RuleFileError for what the grammar cannot rule out (a bad escape, two claims).
    """
    return _BUILDERS[branch.data](branch, source)


def _include(branch: Branch, source: Source) -> Include:
    return Include(string(tokens(branch.children)[0], source), span_of(branch, source))


def _python(branch: Branch, source: Source) -> PythonImport:
    module, *names = tokens(branch.children)
    span = span_of(branch, source)
    return PythonImport(string(module, source), tuple(str(name) for name in names), span)


def _phase(branch: Branch, source: Source) -> Phase:
    return Phase(str(branch.children[0]), span_of(branch, source))


def _rule(branch: Branch, source: Source) -> Rule:
    parts = branches(branch.children)
    name, *title = [each for each in branch.children[:2] if isinstance(each, Token)]
    modifiers = _modifiers(branch.children[2:], source)
    claims = [each for each in parts if each.data in CLAIMS]
    if len(claims) > 1:
        raise failure("a rule makes one claim", span_of(claims[1], source))
    then = _only(parts, "then", source)
    codes = _only(parts, "compare_codes", source)
    replacements = [each for each in parts if each.data == "replacement"]
    arrow = next(each for each in parts if each.data == "arrow")
    return Rule(
        name=str(name),
        title=string(title[0], source) if title else "",
        phase=_text(modifiers.get("in_phase")),
        priority=int(_text(modifiers.get("priority")) or 0),
        override="override" in modifiers,
        expands="expands" in modifiers,
        pattern=tuple(statement(each, source) for each in parts if each.data in STATEMENTS),
        clauses=tuple(_clause(each, source) for each in parts if each.data in ("where", "let")),
        arrow=str(arrow.children[0]),
        template=tuple(assign(each, source) for each in replacements),
        claim=_claim(claims[0], source) if claims else None,
        then=tuple(str(token) for token in tokens(then.children)) if then else (),
        compare_codes=_text(codes),
        hint=_joined(_only(parts, "hint", source), source),
        doc=_joined(_only(parts, "doc", source), source),
        span=span_of(branch, source),
        name_span=span_of(name, source),
    )


def _modifiers(children: Sequence[Child], source: Source) -> Mapping[str, Branch]:
    found: dict[str, Branch] = {}
    for each in branches(children):
        if each.data in ("in_phase", "priority", "override", "expands"):
            if each.data in found:
                raise failure("this is said twice of one rule", span_of(each, source))
            found[each.data] = each
    return found


def _only(parts: Sequence[Branch], kind: str, source: Source) -> Branch | None:
    found = [each for each in parts if each.data == kind]
    if len(found) > 1:
        word = "compare codes" if kind == "compare_codes" else kind
        raise failure(f'"{word}" stands twice in one rule', span_of(found[1], source))
    return found[0] if found else None


def _text(branch: Branch | None) -> str | None:
    return None if branch is None else str(branch.children[0])


def _joined(branch: Branch | None, source: Source) -> str:
    return "" if branch is None else strings(tokens(branch.children), source)


def _clause(branch: Branch, source: Source) -> Clause:
    span = span_of(branch, source)
    parts = branches(branch.children)
    if branch.data == "where":
        return Where(tuple(expression(each, source) for each in parts), span)
    bindings = tuple(
        (str(each.children[0]), expression(each.children[1], source)) for each in parts
    )
    return Let(bindings, span)


def _claim(branch: Branch, source: Source) -> Claim:
    span = span_of(branch, source)
    if branch.data == "exact":
        return Exact(span)
    parts = branches(branch.children)
    bound = number(parts[0].children, source)
    if bound < 0:
        raise failure("a claim's bound is not negative", span_of(parts[0], source))
    if branch.data == "within_relative":
        return WithinRelative(float(bound), span)
    tensor = str(tokens(branch.children)[0])
    if branch.data == "lossy":
        return Lossy(float(bound), tensor, span)
    share = DEFAULT_SHARE
    if parts[-1].data == "share":
        percent = number(branches(parts[-1].children)[0].children, source)
        if not 0 <= percent <= 100:
            raise failure("a share is between 0 and 100 %", span_of(parts[-1], source))
        share = percent / 100
    return WithinQuanta(float(bound), tensor, share, span)


_BUILDERS: Mapping[str, Callable[[Branch, Source], Item]] = {
    "pack": pack_header,
    "include": _include,
    "python": _python,
    "op_decl": op_declaration,
    "ops_decl": op_set,
    "property_decl": property_declaration,
    "pattern_decl": pattern_declaration,
    "guard_decl": guard,
    "phase_decl": _phase,
    "rule_decl": _rule,
}
