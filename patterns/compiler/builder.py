"""The whole builder of one variant of a rule, from ``let`` to the replacement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from qrewrite.engine.dtypes import NUMBERS

from ..diagnostics import failure
from ..packs.pack import Pack
from ..syntax import (
    Apply,
    Binary,
    Call,
    Capture,
    Conditional,
    Expr,
    Let,
    ListOf,
    Quantifier,
    Rule,
    With,
)
from .alternatives import ops_of
from .codegen import function_body
from .compare import allowed_difference
from .conditions import add_condition
from .flat import Computed, Condition, Each, Flat, FlatValue, NotThere, Scope
from .helpers import Helpers
from .places import Places
from .references import bindings_in
from .repetition import removed
from .steps import Step, Steps
from .template import TemplateWriter
from .truth import Truth


@dataclass(frozen=True, slots=True)
class BuilderSource:
    arguments: tuple[str, ...]
    """What a match hands over, as the text of the matcher, and the parameter for each."""
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]
    """What ``let`` computes and the conditions on that, over the parameters."""
    body: str


def builder_source(
    rule: Rule, flat: Flat, helpers: Helpers, places: Places, waiting: Sequence[Condition]
) -> BuilderSource:
    """The function that builds the replacement of a match of this variant.

    ``waiting`` are the conditions that need what ``let`` binds.
    """
    inner = Places(places)
    inner.argument("n")
    steps = Steps()
    names = list(_lets(rule))
    for name, expression in names:
        _let(name, expression, flat, helpers, inner, steps)
        for condition in waiting:
            if _last_needed(condition, names, flat, helpers.pack) == name:
                add_condition(condition, flat, helpers, inner, steps)
    items = _recoding(rule, flat, helpers, inner)
    if not items:
        lines = TemplateWriter(rule, flat, helpers, inner).write()
        made = f"Replacement(n, {_removed(flat, places, inner)}, nodes, forward)"
        made = _compared(made, rule, flat, inner)
        items = ["nodes = []; forward = []", *lines.items, f"return {made}"]
    action = "\n".join(f" {line}" for line in items).lstrip()
    body = " graph = context.graph\n" + function_body([(steps.items, action)], "return None")
    arguments = inner.arguments
    return BuilderSource(tuple(arguments), tuple(arguments.values()), tuple(steps.items), body)


def _lets(rule: Rule) -> Iterable[tuple[str, Expr]]:
    for clause in rule.clauses:
        if isinstance(clause, Let):
            yield from clause.bindings


def _let(
    name: str, expression: Expr, flat: Flat, helpers: Helpers, places: Places, steps: Steps
) -> None:
    """A variable for what a ``let`` computes; where that is nothing, the rule does not fire."""
    writer = Truth(flat, helpers, places, None, scalars=False)
    expression = chosen(expression, flat.scope, writer)
    found = list(bindings_in(expression, flat.scope, flat, helpers.pack))
    flat.references.clear()  # they do not know of this name yet
    if any(isinstance(each, NotThere) or getattr(each, "absent", False) for each in found):
        flat.scope.names[name] = Computed(name, absent=True)
        return
    text = writer.operand_text(expression, flat.scope)
    each = None
    if writer.lists:
        each = _repetition(found)
        elements, source = ", ".join(writer.lists.values()), ", ".join(writer.lists)
        if len(writer.lists) > 1:
            source = f"zip({source}, strict=True)"
        text = f"all_known([{text} for {elements} in {source}])"
    after = next((each for each in found if isinstance(each, FlatValue)), None)
    flat.scope.names[name] = Computed(name, named_after=after, each=each)
    steps.bind(f"let_{name}", text)
    steps.test(f"let_{name} is not None", expression.span, f"{name} can be computed")


def _repetition(found: Iterable[object]) -> Each | None:
    listed = (getattr(getattr(each, "node", each), "each", None) for each in found)
    return next((each for each in listed if each is not None), None)


def chosen(expression: Expr, scope: Scope, writer: Truth) -> Expr:
    """An expression without the branches that this variant rules out."""
    match expression:
        case Conditional(then, condition, otherwise):
            if writer.holds(condition, scope, False) == "True":
                return chosen(then, scope, writer)
            if writer.fails(condition, scope, False) == "True":
                return chosen(otherwise, scope, writer)
            return expression
        case Call():
            arguments = tuple(chosen(each, scope, writer) for each in expression.arguments)
            keywords = tuple((k, chosen(v, scope, writer)) for k, v in expression.keywords)
            return replace(expression, arguments=arguments, keywords=keywords)
        case With(base, fields):
            changed = tuple((k, chosen(v, scope, writer)) for k, v in fields)
            return replace(expression, base=chosen(base, scope, writer), fields=changed)
        case Binary(left=left, right=right):
            sides = chosen(left, scope, writer), chosen(right, scope, writer)
            return replace(expression, left=sides[0], right=sides[1])
        case ListOf(elements):
            found = tuple(chosen(each, scope, writer) for each in elements)
            return replace(expression, elements=found)
        case _:
            return expression


def _last_needed(
    condition: Condition, names: Sequence[tuple[str, Expr]], flat: Flat, pack: Pack
) -> str:
    """The last of the ``let`` bindings that a condition reads."""
    found = bindings_in(condition.expression, condition.scope, flat, pack)
    needed = {each.name for each in found if isinstance(each, Computed)}
    return next((name for name, _ in reversed(names) if name in needed), "")


def _compared(made: str, rule: Rule, flat: Flat, places: Places) -> str:
    """``compare codes of x``"""
    if rule.compare_codes is None:
        return made
    found = flat.scope.find(rule.compare_codes)
    if not isinstance(found, FlatValue) or found.each is not None:
        raise failure(f'"{rule.compare_codes}" is not one tensor', rule.name_span)
    return f"compared({made}, {places.at(found)}, {allowed_difference(rule.claim)!r})"


def _recoding(rule: Rule, flat: Flat, helpers: Helpers, places: Places) -> list[str]:
    """``t = recode(t, u8)`` where t is a connected set; no lines for every other template."""
    if not flat.connected:
        return []
    statement, start = flat.connected[0]
    ops = frozenset(op for each in statement.ops for op in ops_of(each, helpers.pack))
    match [(each.targets, each.term) for each in rule.template]:
        case [((target,), Apply(op=op, operands=(Capture(name), Capture(kind))))] if (
            op.name == "recode" and name == target.name == statement.name and kind in NUMBERS
        ):
            table = helpers.constant(f"ops {sorted(ops)}", ops)
            call = f"recoded(n, {places.at(start)}, {table}, {NUMBERS[kind]})"
            return [f"return {call}"]
        case _:
            note = f"as in `{statement.name} = recode({statement.name}, u8)`"
            raise failure("a connected set is recoded, and nothing else", statement.span, note)


def _removed(flat: Flat, outer: Places, places: Places) -> str:
    nodes = removed(flat, places)
    nodes += [f"*{places.at(chain)}" for chain in flat.chains if not chain.borrowed]
    for each, rows in outer.rows.items():
        if each.removes:
            last = f"{places.argument(rows)}[-1]"
            nodes.append(f"*joined({last})" if each.quantifier is Quantifier.EACH else f"*{last}")
    text = f"[{', '.join(nodes)}]"
    # A node can stand twice in a list, as in Concat(a, a).
    return f"list(dict.fromkeys({text}))" if "*" in text else text
