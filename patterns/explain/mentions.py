"""Which ops the patterns of a pack mention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..compiler.alternatives import ops_of
from ..packs.pack import Pack, PackRule
from ..syntax import Alternatives, Apply, Assign, Group, Term, Use


def mentioned_ops(pack: Pack) -> frozenset[str]:
    """Every op that stands in the pattern of a rule, by itself, in a set or in a fragment."""
    return frozenset(op for entry in pack.rules for op in _ops_of_rule(entry, pack))


def rules_by_op(pack: Pack, ops: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each op the rules, by ``pack/rule``, whose patterns mention it; without those of none."""
    mentioned = [(entry.full_name, frozenset(_ops_of_rule(entry, pack))) for entry in pack.rules]
    found = {op: tuple(name for name, inside in mentioned if op in inside) for op in ops}
    return {op: rules for op, rules in found.items() if rules}


def _ops_of_rule(entry: PackRule, pack: Pack) -> Iterator[str]:
    fragments: set[str] = set()
    for statement in entry.rule.pattern:
        if isinstance(statement, Assign | Use):
            yield from _ops(statement.term, pack, fragments)


def _ops(term: Term, pack: Pack, fragments: set[str]) -> Iterator[str]:
    """``fragments``: those that were looked into already."""
    if isinstance(term, Apply):
        name = term.op.name
        if not term.op.domain and name in pack.fragments:
            if name not in fragments:
                fragments.add(name)
                for alternative in pack.fragments[name].alternatives:
                    yield from _ops(alternative.term, pack, fragments)
        else:
            yield from ops_of(term.op, pack)
    operands: tuple[Term, ...] = ()
    if isinstance(term, Apply | Group):
        operands = term.operands
    elif isinstance(term, Alternatives):
        operands = term.choices
    for operand in operands:
        yield from _ops(operand, pack, fragments)
