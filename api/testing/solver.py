"""Settles one thing of a graph at a time, so that no condition becomes false.

Each choice is made among candidates; those that make a condition false with what is settled so far
are left out.  A condition that names what is not settled yet is unknown and leaves all candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from qrewrite.patterns.syntax import Expr

from .draws import Draw, chance
from .expand_pattern import Unsatisfiable
from .expressions import Atom, names_of
from .truth import holds
from .world import World

T = TypeVar("T")


class Solver:
    """A world, the conditions it must meet, and where choices come from."""

    def __init__(self, world: World, atoms: Sequence[Atom], draw: Draw, tame: bool) -> None:
        self.world = world
        self.atoms = atoms
        self.draw = draw
        self.tame = tame
        """Only scales and shapes that are common in practice."""
        self.multiples: dict[str, Expr] = {}
        """Scales that must be a whole multiple of what an expression says."""
        self._names = [frozenset(names_of(atom.expression)) for atom in atoms]

    def consistent(self, touched: Collection[str] | None = None) -> bool:
        """No condition is known to be broken; `touched`: of those that name one of these."""
        return all(
            holds(atom.expression, self.world) in (None, atom.holds)
            for atom, names in zip(self.atoms, self._names, strict=True)
            if touched is None or not names.isdisjoint(touched)
        )

    def require(self, what: str) -> None:
        """Raise Unsatisfiable if the conditions contradict `what` has been settled."""
        if not self.consistent():
            raise Unsatisfiable(f"the conditions contradict {what}")

    def broken(self) -> list[Atom]:
        """Conditions that are not as they should be; unknown ones are not listed."""
        return [a for a in self.atoms if holds(a.expression, self.world) not in (None, a.holds)]

    def find(
        self, candidates: Sequence[T], assign: Callable[[T], None],
        touched: Collection[str] | None = None,
    ) -> T | None:  # fmt: skip
        """Assign a candidate that breaks no condition, and return it; None if there is none.

        The search begins at a drawn place and goes round; the first is the simplest.  `touched`:
        names of the rule that the choice bears on, where that is known.
        """
        if not candidates:
            return None
        if touched is not None:
            touched = {name.partition(".")[0] for name in touched}
        first = self.draw.integer(0, len(candidates) - 1)
        for index in range(len(candidates)):
            candidate = candidates[(first + index) % len(candidates)]
            assign(candidate)
            if self.consistent(touched):
                return candidate
        return None

    def choose(
        self, candidates: Sequence[Sequence[T]], assign: Callable[[T], None], what: str,
        touched: Collection[str] | None = None,
    ) -> T:  # fmt: skip
        """The same over several lists, a later one where an earlier one has none.

        Raises Unsatisfiable where no list has one.
        """
        for each in candidates:
            found = self.find(each, assign, touched)
            if found is not None:
                return found
        raise Unsatisfiable(f"no {what} meets the conditions")

    def prefer(self, common: Sequence[T], rare: Sequence[T], percent: int) -> list[T]:
        """The common candidates alone, or, in so many percent, the rare ones before them."""
        if rare and not self.tame and chance(self.draw, percent):
            return [*rare, *common]
        return [*common]
