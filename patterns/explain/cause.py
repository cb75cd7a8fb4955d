"""Why a rule did not apply at a node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from ..diagnostics import RuleFileError
from ..packs.find import rules_folder
from ..syntax import Span
from .anchored import Anchored, Part
from .facts import facts_of
from .interpreter import Interpreter, Stop
from .mends import mend_of
from .reading import Reader
from .structure import Finding, Stopped, finding_of, missing_nodes
from .terms import written_as
from .tree import Row, tree_of
from .words import words


class Kind(Enum):
    STRUCTURE = "structure"
    """The graph has another form there."""
    CONDITION = "condition"
    """A condition of the rule does not hold, or is not known to."""
    COMPUTATION = "computation"
    """What the rule computes by ``let`` cannot be computed, or a condition on it does not hold."""
    REFUSED = "refused"
    """The rule matches, and its replacement is not valid there."""
    THEN = "then"
    """The rule matches, and none of the rules that must follow it does."""
    EXCLUDED = "excluded"
    """``--only`` or ``--skip`` hold the rule back."""
    APPLIES = "applies"
    """Nothing stands in its way."""


@dataclass(frozen=True, slots=True)
class Cause:
    rule: str
    """``pack/rule``."""
    title: str
    kind: Kind
    words: str
    """What the rule asks for, in its own words."""
    within: str
    """The guard by way of which it asks; "" if it asks itself."""
    facts: tuple[str, ...]
    """What the graph has instead, with its values."""
    place: str
    """``file:line:column`` in the rule."""
    hint: str
    """How to mend it: what follows from the condition, else the rule's own hint, else ""."""
    tree: tuple[Row, ...]
    behind: Cause | None = None
    """Of a rule with ``then``: why the rule that came closest behind it does not apply."""


def place_of(span: Span | None) -> str:
    """``file:line:column``; a file that ships is named from the folder of the rules on."""
    if span is None:
        return ""
    name = span.source.name
    try:
        folder = str(rules_folder())
    except RuleFileError:
        folder = ""
    if folder and name.startswith(folder):
        name = f"rules{name[len(folder) :]}"
    return f"{name}:{span.line}:{span.column}"


def cause_of_stop(pattern: Anchored, stop: Stop, interpreter: Interpreter) -> Cause:
    """Of a pattern that does not match: the first step that failed, in words."""
    part = pattern.parts.get(stop.position)
    rule = pattern.variant.rule.source.rule
    if part is None:
        stopped = Stopped(
            rule,
            pattern.flat,
            pattern.places,
            pattern.steps,
            stop.position,
            stop.environment,
            interpreter,
        )
        finding = finding_of(stopped)
        more = missing_nodes(stopped, pattern.structure)
        finding = replace(finding, facts=(*finding.facts, *more))
        return cause(pattern, stop, Kind.STRUCTURE, finding)
    reader = Reader(pattern.flat, pattern.places, interpreter, stop.environment)
    return cause_of_part(pattern, part, stop, reader, Kind.CONDITION)


def cause_of_part(pattern: Anchored, part: Part, stop: Stop, reader: Reader, kind: Kind) -> Cause:
    """Of a condition that does not hold."""
    condition = part.condition
    said = words(condition.expression, condition.scope)
    span = part.trail[0].span if part.trail else condition.expression.span
    if condition.attribute is not None:
        said = f"{condition.attribute.attribute} = {said}"
    facts = tuple(facts_of(condition, reader))
    within = ""
    if part.trail:
        # Of guards in guards the outermost is the rule's.
        within = words(part.trail[0])
    mend = mend_of(condition, reader)
    return cause(pattern, stop, kind, Finding(said, facts, span), within, mend=mend)


def cause(
    pattern: Anchored,
    stop: Stop,
    kind: Kind,
    finding: Finding,
    within: str = "",
    behind: Cause | None = None,
    mend: str = "",
) -> Cause:
    source = pattern.variant.rule.source
    span = finding.span
    if span is None or not _is_in(span, source.rule.span):
        span = written_as(pattern.node, source.rule)[1]
    return Cause(
        source.full_name,
        source.rule.title,
        kind,
        finding.words,
        within,
        finding.facts,
        place_of(span),
        mend or source.rule.hint,
        tree_of(pattern.flat, pattern.places, stop.environment),
        behind,
    )


def _is_in(span: Span, outer: Span) -> bool:
    return span.source.name == outer.source.name and outer.line <= span.line <= outer.end_line
