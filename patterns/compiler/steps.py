"""The steps of a match, in the order in which they are taken; equal steps of two rules have equal
text.

Variables are named by the path from the anchor ``n``: ``ni0p`` is the producer of operand 0 of
``n``, ``no0c`` the consumer of its output 0.  So what two rules have in common is the same text
in both, and is done once for both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..syntax import Span


@dataclass(frozen=True, slots=True)
class Bind:
    """Gives a variable its value, which may be None."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Test:
    """A Python expression that must be true."""

    expression: str
    subject: str = ""
    """What is tested, where two tests of it with no outcome in common cannot both hold."""
    outcomes: frozenset[object] = frozenset()
    span: Span | None = field(default=None, compare=False)
    """The condition or node of the rule for which this stands."""
    words: str = field(default="", compare=False)

    def excludes(self, other: Step) -> bool:
        return (
            isinstance(other, Test)
            and bool(self.subject)
            and self.subject == other.subject
            and not self.outcomes & other.outcomes
        )

    def __str__(self) -> str:
        return self.words or self.expression


@dataclass(frozen=True, slots=True)
class Candidates:
    """Goes through several nodes or values; the steps behind it are tried for each."""

    name: str
    expression: str


Step = Bind | Test | Candidates


@dataclass(slots=True)
class Steps:
    """A list of steps that is being written; what has a value already is not given one again."""

    items: list[Step] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    _tested: set[str] = field(default_factory=set)

    def bind(self, name: str, expression: str) -> str:
        if name not in self.bound:
            self.bound.add(name)
            self.items.append(Bind(name, expression))
        return name

    def test(
        self,
        expression: str,
        span: Span | None = None,
        words: str = "",
        subject: str = "",
        outcomes: Iterable[object] = (),
    ) -> None:
        if expression not in self._tested:
            self._tested.add(expression)
            self.items.append(Test(expression, subject, frozenset(outcomes), span, words))

    def candidates(self, name: str, expression: str) -> str:
        self.bound.add(name)
        self.items.append(Candidates(name, expression))
        return name
