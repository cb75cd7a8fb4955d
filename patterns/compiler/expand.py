"""From a rule to the flat patterns that it stands for, more specific ones first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..diagnostics import failure
from ..packs.pack import Pack
from ..syntax import (
    Alternatives,
    Apply,
    Arity,
    Assign,
    Capture,
    Connected,
    Group,
    Rule,
    Target,
    Term,
    Use,
    Where,
)
from .choices import Choose, every_choice
from .flat import (
    ABSENT,
    Computed,
    Condition,
    Each,
    Flat,
    FlatNode,
    FlatValue,
    NotThere,
    Scope,
    Source,
    ValueOperand,
)
from .repeat import PatternElaborator
from .roles import assign_roles
from .term_names import pattern_names, single_names

MOST_VARIANTS = 64
"""Patterns that one rule may stand for."""


def expand(rule: Rule, pack: Pack) -> list[Flat]:
    """Every variant of a rule's pattern: alternatives, optional parts, orders of operands.

    A variant that has more nodes goes before one that has fewer.  RuleFileError if there are more
    than ``MOST_VARIANTS``, or the pattern cannot be read.
    """

    def make(choose: Choose) -> Flat:
        return _variant(rule, pack, choose)

    variants = every_choice(make, MOST_VARIANTS, rule.name_span)
    _mark_missing_parts(variants)
    return sorted(variants, key=lambda flat: -len(flat.nodes))


def _variant(rule: Rule, pack: Pack, choose: Choose) -> Flat:
    scope = Scope(known=pattern_names(rule.pattern))
    flat = Flat(scope)
    elaborator = PatternElaborator(pack, choose, flat, single_names(rule.pattern))
    later: list[Assign] = []
    for statement in rule.pattern:
        if isinstance(statement, Assign):
            if _maps(statement):
                later.append(statement)
            else:
                _assign(statement, elaborator)
    for statement in later:
        elaborator.map_lists(statement, scope)
    for statement in rule.pattern:
        if isinstance(statement, Use):
            elaborator.uses(statement, scope)
        elif isinstance(statement, Connected):
            _connected(statement, elaborator)
    for clause in rule.clauses:
        if isinstance(clause, Where):
            flat.conditions += [Condition(each, scope) for each in clause.conditions]
        else:
            scope.names.update({name: Computed(name) for name, _ in clause.bindings})
    assign_roles(flat, _replaced(rule), _read(rule))
    return flat


def _mark_missing_parts(variants: Sequence[Flat]) -> None:
    """A part that a name has in some variants (``y.scale`` under ``Q?``) is absent in the
    others."""
    known: dict[str, set[str]] = {}
    for flat in variants:
        for name, value in flat.scope.names.items():
            parts = {part for owner, part in flat.parts if owner is value}
            known.setdefault(name, set()).update(parts)
    for flat in variants:
        for name, value in flat.scope.names.items():
            if isinstance(value, FlatValue):
                for part in known[name]:
                    flat.parts.setdefault((value, part), ABSENT)


def _maps(statement: Assign) -> bool:
    """Whether a statement goes through lists: ``y... = Q(part)...``."""
    return isinstance(statement.term, Apply) and statement.term.arity is Arity.REPEATED


def _assign(statement: Assign, elaborator: PatternElaborator) -> None:
    flat, scope = elaborator.flat, elaborator.flat.scope
    results = [_result(target, elaborator) for target in statement.targets]
    single = [
        value
        for value, target in zip(results, statement.targets, strict=True)
        if target.arity is not Arity.REPEATED
    ]
    made = elaborator.node(statement.term, scope, single)
    if len(single) == len(results):
        return
    if len(single) < len(results) - 1 or statement.targets[-1].arity is not Arity.REPEATED:
        raise failure("one name with `...` stands for all outputs that are left", statement.span)
    producer = made.value.producer if isinstance(made, ValueOperand) else None
    if not isinstance(producer, FlatNode):
        raise failure("only the outputs of a node can be a list", statement.span)
    listed = FlatValue(statement.targets[-1].name, flat)
    each = Each(Source.OUTPUTS, statement.span, slots=[listed], node=producer)
    listed.each = each
    scope.names[listed.name] = listed
    producer.outputs = list(single)
    producer.each_output = each


def _result(target: Target, elaborator: PatternElaborator) -> FlatValue | None:
    scope = elaborator.flat.scope
    if target.arity is Arity.REPEATED:
        return None
    is_new = target.name not in scope.names
    if target.arity is Arity.OPTIONAL and is_new and elaborator.choose(2, target.span):
        scope.names[target.name] = ABSENT
    if isinstance(scope.names.get(target.name), NotThere):
        return None
    return elaborator.value(target.name, scope, target.span)


def _connected(statement: Connected, elaborator: PatternElaborator) -> None:
    scope = elaborator.flat.scope
    start = elaborator.value(statement.start, scope, statement.span)
    scope.names[statement.name] = Computed(statement.name)
    elaborator.flat.connected.append((statement, start))


def _replaced(rule: Rule) -> frozenset[str]:
    return frozenset(target.name for each in rule.template for target in each.targets)


def _read(rule: Rule) -> frozenset[str]:
    return frozenset(_bare_names(each.term for each in rule.template))


def _bare_names(terms: Iterable[Term]) -> Iterable[str]:
    """The names that terms take as operands, not counting those of which they take parts."""
    for term in terms:
        match term:
            case Capture(name, None):
                yield name
            case Apply(operands=operands) | Group(operands) | Alternatives(operands):
                yield from _bare_names(operands)
            case _:
                pass
