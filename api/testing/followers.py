"""What the rules that must fire behind a rule (`then`) ask of the same graph.

The follower's pattern is laid on the template of the rule.  Where two names meet they are the same
value.  Where the follower has nodes and the template a value that nothing in the pattern makes, a
list of operands, or nothing at all, those nodes are made: so the graph around the match is one that
the follower fits.
"""

from __future__ import annotations

from qrewrite.patterns.packs.pack import Pack, PackRule
from qrewrite.patterns.syntax import Apply, Assign, Expr, Rule, Where

from .draws import Draw, pick
from .expressions import conjuncts
from .meaning import Meaning, Meanings, meanings_of
from .meeting import Meeting, Place
from .structure import Structure

DEEPEST = 3


def follow(
    pack: Pack, rule: Rule, structure: Structure, draw: Draw, depth: int = DEEPEST,
    known: Meanings | None = None,
) -> list[Expr]:  # fmt: skip
    """Add what one of the followers needs to the structure; its conditions, in names of slots.

    `known`: what the names of `rule` mean where it is itself a follower.
    """
    if not rule.then or not depth:
        return []
    names = meanings_of(rule, known or _captured(structure))
    fitting = []
    for name in rule.then:
        follower = pack.rule(name)
        if follower is not None:
            meeting = Meeting(pack, structure, draw, names)
            place = _place(meeting, follower.rule, rule)
            if place is not None:
                fitting.append((follower, meeting, place))
    if not fitting:
        return []
    follower, meeting, place = pick(draw, fitting)
    _meet(meeting, place)
    return _conditions(follower, meeting) + follow(
        pack, follower.rule, structure, draw, depth - 1, meeting.bound
    )


def _captured(structure: Structure) -> Meanings:
    return {name: Meaning(slots[0]) for name, slots in structure.captures.items() if slots}


def _conditions(follower: PackRule, meeting: Meeting) -> list[Expr]:
    own = [
        meeting.renamed(each)
        for clause in follower.rule.clauses
        if isinstance(clause, Where)
        for condition in clause.conditions
        for each in conjuncts(meeting.pack, condition)
    ]
    return [*own, *meeting.asked]


def _place(meeting: Meeting, follower: Rule, rule: Rule) -> Place | None:
    """Where the follower's outermost node is: at a node of the template, or around its result."""
    for theirs in follower.pattern:
        if not isinstance(theirs, Assign) or not isinstance(theirs.term, Apply):
            continue
        for ours in rule.template:
            if isinstance(ours.term, Apply):
                found = meeting.place(theirs, ours)
                if found is not None:
                    return found
    return None


def _meet(meeting: Meeting, place: Place) -> None:
    theirs = place.theirs.term
    assert isinstance(theirs, Apply)
    if place.around:
        meeting.stand_around(place)
        meeting.meet(theirs.operands[0], place.at)
    else:
        meeting.begin(place)
        meeting.meet(theirs, place.at)
