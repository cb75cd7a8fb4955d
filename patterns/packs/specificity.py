"""The order of the rules of a phase: priority, then how much a rule asks for, then its name."""

from __future__ import annotations

from ..syntax import (
    Alternatives,
    Apply,
    Arity,
    Assign,
    Call,
    Connected,
    Expr,
    Group,
    Logical,
    Presence,
    Rule,
    Term,
    Use,
    Where,
)
from .pack import Pack, PackRule

Order = tuple[int, int, int, str]


def rule_order(rule: PackRule, pack: Pack) -> Order:
    """Sorts the rules of a phase: the first in order is tried first.

    A higher priority goes first; then more nodes, then more conditions; then the name, so that the
    order never depends on files.
    """
    nodes, conditions = specificity(rule.rule, pack)
    return (-rule.rule.priority, -nodes, -conditions, rule.name)


def specificity(rule: Rule, pack: Pack) -> tuple[int, int]:
    """How many nodes every match of a rule has, and how many conditions it fulfils.

    Fragments and guards count as what they stand for.
    """
    nodes = 0
    conditions = 0
    for statement in rule.pattern:
        if isinstance(statement, Assign):
            nodes += _nodes(statement.term, pack, frozenset())
        elif isinstance(statement, (Use, Connected)):
            conditions += 1
    for clause in rule.clauses:
        if isinstance(clause, Where):
            conditions += sum(_conditions(each, pack, frozenset()) for each in clause.conditions)
    return nodes, conditions


def _nodes(term: Term, pack: Pack, inside: frozenset[str]) -> int:
    match term:
        case Apply():
            return _nodes_of_apply(term, pack, inside)
        case Alternatives(choices, arity):
            found = [_nodes(each, pack, inside) for each in choices]
            return 0 if arity is Arity.OPTIONAL else min(found)
        case Group(operands):
            return sum(_nodes(each, pack, inside) for each in operands)
        case _:
            return 0


def _nodes_of_apply(node: Apply, pack: Pack, inside: frozenset[str]) -> int:
    if node.arity is Arity.OPTIONAL:
        return 0
    if node.presence in (Presence.OPTIONAL, Presence.ANY):
        return sum(_nodes(each, pack, inside) for each in node.operands[:1])
    operands = sum(_nodes(each, pack, inside) for each in node.operands)
    name = node.op.name
    fragment = None if node.op.domain or node.op.slot else pack.fragments.get(name)
    if fragment is None or name in inside:
        return operands + 1
    within = inside | {name}
    return operands + min(_nodes(each.term, pack, within) for each in fragment.alternatives)


def _conditions(condition: Expr, pack: Pack, inside: frozenset[str]) -> int:
    match condition:
        case Logical("and", operands):
            return sum(_conditions(each, pack, inside) for each in operands)
        case Call(function) if function in pack.guards and function not in inside:
            within = inside | {function}
            return sum(_conditions(each, pack, within) for each in pack.guards[function].conditions)
        case _:
            return 1
