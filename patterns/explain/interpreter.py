"""Takes the steps of a match one by one, with the same expressions as the generated matchers.

Slow, and used only to explain: it can say at which step a pattern failed, and with which values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from qrewrite.engine.graph import Node

from ..compiler.helpers import Helpers
from ..compiler.places import ANCHOR
from ..compiler.steps import Bind, Candidates, Step, Test

Environment = dict[str, Any]
"""The variables of the steps so far, and the globals of generated code."""


@dataclass(frozen=True, slots=True)
class Stop:
    """How far a pattern matched, by the candidates that came furthest."""

    position: int
    """Of the step that failed; the number of steps where all of it matches."""
    environment: Environment


class Interpreter:
    """Evaluates expressions of generated code; each is compiled once."""

    def __init__(self, helpers: Helpers) -> None:
        self.helpers = helpers
        self._codes: dict[str, CodeType] = {}

    def code(self, expression: str) -> CodeType:
        found = self._codes.get(expression)
        if found is None:
            found = self._codes[expression] = compile(expression, "<qrewrite explain>", "eval")
        return found

    def value(self, expression: str, environment: Environment) -> Any:
        return eval(self.code(expression), environment)

    def at(self, node: Node) -> Environment:
        """The environment in which matching starts at a node."""
        return {**self.helpers.globals, ANCHOR: node}

    def around(self, values: Mapping[str, Any]) -> Environment:
        return {**self.helpers.globals, **values}

    def run(self, steps: Sequence[Step], environment: Environment, first: int = 0) -> Stop:
        """Take the steps from position ``first`` on; changes ``environment``."""
        for position in range(first, len(steps)):
            step = steps[position]
            if isinstance(step, Test):
                if not self.value(step.expression, environment):
                    return Stop(position, environment)
            elif isinstance(step, Bind):
                environment[step.name] = self.value(step.expression, environment)
            else:
                return self._run_candidates(steps, position, step, environment)
        return Stop(len(steps), environment)

    def _run_candidates(
        self, steps: Sequence[Step], position: int, step: Candidates, environment: Environment
    ) -> Stop:
        furthest = Stop(position, environment)
        for candidate in self.value(step.expression, environment):
            stop = self.run(steps, {**environment, step.name: candidate}, position + 1)
            if stop.position > furthest.position:
                furthest = stop
            if stop.position == len(steps):
                break
        return furthest

    def matches(self, steps: Sequence[Step], node: Node) -> bool:
        return self.run(steps, self.at(node)).position == len(steps)

    def outcomes(self, steps: Sequence[Step], environment: Environment) -> dict[int, bool]:
        """Which tests hold if those that fail are passed over; changes ``environment``.

        A test is left out if it reads what a failed step would have found.
        """
        found: dict[int, bool] = {}
        for position, step in enumerate(steps):
            try:
                value = self.value(step.expression, environment)
                if isinstance(step, Test):
                    found[position] = bool(value)
                else:
                    first = value if isinstance(step, Bind) else next(iter(value))
                    environment[step.name] = first
            except Exception:  # a step behind one that failed may lack what it reads
                continue
        return found
