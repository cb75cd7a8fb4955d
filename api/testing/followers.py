"""What the rules that must fire behind a rule (`then`) ask of the same graph.

The follower's pattern is read against the template of the rule.  Where two names meet they are the
same value.  Where the follower has nodes and the template a value that nothing in the pattern
makes, those nodes are made: so the graph around the match is one that the follower fits.
"""

from __future__ import annotations

from collections.abc import Iterator

from qrewrite.patterns.pack import Pack, op_key
from qrewrite.patterns.syntax import (
    Apply,
    Assign,
    Attribute,
    Capture,
    Expr,
    Name,
    Presence,
    Rule,
    Term,
    Where,
)

from .draws import Draw, pick
from .expand_pattern import Frame, Unsatisfiable, grow
from .expressions import names_of, substitute
from .structure import Structure
from .world import NUMPY

DEEPEST = 3


def follow(
    pack: Pack, rule: Rule, structure: Structure, draw: Draw, depth: int = DEEPEST,
    known: dict[str, str] | None = None,
) -> list[Expr]:  # fmt: skip
    """Add what one of the followers needs to the structure; its conditions, in names of slots.

    `known`: slots of the names of `rule` where it is itself a follower.
    """
    if not rule.then or not depth:
        return []
    follower = pack.rule(pick(draw, rule.then))
    if follower is None:
        return []
    if known is None:
        known = {name: slots[0] for name, slots in structure.captures.items() if slots}
    meeting = _Meeting(pack, structure, draw, known)
    for made in rule.template:
        for statement in follower.rule.pattern:
            if isinstance(statement, Assign) and isinstance(statement.term, Apply):
                meeting.begin(statement, made)
    found = [
        meeting.renamed(condition)
        for clause in follower.rule.clauses
        if isinstance(clause, Where)
        for condition in clause.conditions
    ]
    bound = {name: slot for name, slot in meeting.frame.bound.items() if slot is not None}
    return found + follow(pack, follower.rule, structure, draw, depth - 1, bound)


class _Meeting:
    """A follower's pattern on its way along a template."""

    def __init__(self, pack: Pack, structure: Structure, draw: Draw, known: dict[str, str]) -> None:
        self.pack = pack
        self.structure = structure
        self.draw = draw
        self.known = known
        self.frame = Frame(parent=Frame())
        self.attributes: dict[str, Expr] = {}
        self.result = ""

    def begin(self, theirs: Assign, ours: Assign) -> None:
        """The outermost node of the template that the follower's outermost node can be."""
        assert isinstance(theirs.term, Apply)
        places = [term for term in applied(ours.term) if self.fits(theirs.term, term)]
        if not places:
            return
        if places[0] is ours.term and len(theirs.targets) == len(ours.targets):
            for left, right in zip(theirs.targets, ours.targets, strict=True):
                self.name(left.name, right.name)
        self.result = theirs.targets[0].name
        self.meet(theirs.term, places[0])

    def fits(self, theirs: Apply, ours: Apply) -> bool:
        """They may be one node: of one op or fragment, or of a set or fragment with that op."""
        if theirs.op.name == ours.op.name and theirs.op.domain == ours.op.domain:
            return True
        members = self.pack.op_sets.get(theirs.op.name)
        if members is not None:
            return any(op_key(each) == op_key(ours.op) for each in members.ops)
        return self._alternative(theirs, ours) is not None

    def _alternative(self, theirs: Apply, ours: Apply) -> Apply | None:
        """The alternative of a fragment whose node can be ours."""
        fragment = self.pack.fragments.get(theirs.op.name)
        for each in fragment.alternatives if fragment is not None else ():
            if isinstance(each.term, Apply) and op_key(each.term.op) == op_key(ours.op):
                return each.term
        return None

    def _opened(self, theirs: Apply, inside: Apply, ours: Apply) -> None:
        """A fragment of the follower against a plain node of the template."""
        fragment = self.pack.fragments[theirs.op.name]
        for left, right in zip(inside.operands, ours.operands, strict=False):
            if not isinstance(left, Capture):
                continue
            if left.part is None and left.name in fragment.parameters:
                self.meet(theirs.operands[fragment.parameters.index(left.name)], right)
            elif left.name == fragment.result and isinstance(right, Capture) and right.part:
                self.name(self.result, right.name)

    def name(self, theirs: str, ours: str) -> None:
        if ours in self.known:
            self.frame.bound.setdefault(theirs, self.known[ours])

    def meet(self, theirs: Term, ours: Term) -> None:
        if isinstance(theirs, Capture) and isinstance(ours, Capture):
            if theirs.part is None and ours.part is None:
                self.name(theirs.name, ours.name)
        elif isinstance(theirs, Apply) and isinstance(ours, Capture) and ours.part is None:
            self._grow(theirs, ours.name)
        elif isinstance(theirs, Apply) and isinstance(ours, Apply):
            inside = self._alternative(theirs, ours)
            if inside is not None:
                self._opened(theirs, inside, ours)
                return
            self._attributes(theirs, ours)
            for left, right in zip(theirs.operands, ours.operands, strict=False):
                self.meet(left, right)

    def _grow(self, theirs: Apply, ours: str) -> None:
        slot = self.known.get(ours)
        free = slot is not None and self.structure.producer(slot) is None
        if slot is None or not free or theirs.presence is not Presence.ONCE:
            return
        try:
            grow(self.pack, self.structure, self.draw, theirs, self.frame, slot)
        except Unsatisfiable:
            return

    def _attributes(self, theirs: Apply, ours: Apply) -> None:
        stated = {a.name: a.value for a in ours.attributes or () if isinstance(a, Attribute)}
        for item in theirs.attributes or ():
            if isinstance(item, Attribute) and isinstance(item.value, Name) and item.name in stated:
                self.attributes.setdefault(item.value.id, stated[item.name])

    def renamed(self, condition: Expr) -> Expr:
        """In names of slots; what did not meet gets a name that nothing binds: it stays unknown."""
        names: dict[str, Expr] = {}
        for name in names_of(condition):
            slot = self.frame.bound.get(name)
            if slot is not None:
                names[name] = Name(slot, condition.span)
            elif name in self.attributes:
                names[name] = self.attributes[name]
            elif self.structure.attribute_owner(name) is None and name not in RESERVED:
                names[name] = Name(f"?{name}", condition.span)
        return substitute(condition, names)


def applied(term: Term) -> Iterator[Apply]:
    """The nodes of a term, outer ones first."""
    if isinstance(term, Apply):
        yield term
        for operand in term.operands:
            yield from applied(operand)


RESERVED = frozenset({"options", "opset", *NUMPY})
