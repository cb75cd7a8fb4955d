"""Which ops the patterns of a pack mention."""

from __future__ import annotations

from collections.abc import Iterator

from ..compiler.alternatives import ops_of
from ..pack import Pack
from ..syntax import Alternatives, Apply, Assign, Group, Term, Use


def mentioned_ops(pack: Pack) -> frozenset[str]:
    """Every op that stands in the pattern of a rule, by itself, in a set or in a fragment."""
    found: set[str] = set()
    fragments: set[str] = set()
    for entry in pack.rules:
        for statement in entry.rule.pattern:
            if isinstance(statement, Assign | Use):
                found.update(_ops(statement.term, pack, fragments))
    return frozenset(found)


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
