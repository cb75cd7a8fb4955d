"""From the steps of many rules to one Python function that tries them all, in order.

The steps of the rules are merged into a tree, so that what they have in common is done once.  A
rule joins an earlier branch only where that cannot change the order in which rules are tried: all
branches in between exclude it.  Where a branch is the last one, failing leaves the function;
elsewhere the steps of a branch are one condition, so that the code is as deep as the tree has
forks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .steps import Bind, Candidates, Step, Test

_MOST_FORKS = 60
"""Python refuses code that is indented 100 levels deep."""


@dataclass(eq=False, slots=True)
class Branch:
    """A step, and what is done behind it; or an action, a line of Python."""

    step: Step | None
    action: str = ""
    behind: list[Branch] = field(default_factory=list)
    deepest: int = 0
    """The most forks that lie one behind the other in what is behind."""

    @property
    def forks(self) -> int:
        return self.deepest + (len(self.behind) > 1)


def merged(sequences: Iterable[tuple[Sequence[Step], str]]) -> Branch:
    """The tree of the steps of some rules and their actions."""
    root = Branch(None)
    for steps, action in sequences:
        path = _shared_path(root, steps)
        above = sum(len(branch.behind) > 1 for branch in path[:-1])
        if above + 1 + path[-1].deepest > _MOST_FORKS:
            path = [root]
        at = path[-1]
        for step in steps[len(path) - 1 :]:
            at.behind.append(Branch(step))
            at = at.behind[-1]
        at.behind.append(Branch(None, action))
        for branch, below in reversed(list(pairwise(path))):
            branch.deepest = max(branch.deepest, below.forks)
    return root


def _shared_path(root: Branch, steps: Sequence[Step]) -> list[Branch]:
    """The branches of the first steps that can be joined, the root before them."""
    path = [root]
    for step in steps:
        found = _shared(path[-1], step)
        if found is None:
            break
        path.append(found)
    return path


def _shared(at: Branch, step: Step) -> Branch | None:
    """The branch of an equal step that can be joined.

    Rules do not share a loop: one rule is tried with all candidates before the next rule is.
    """
    if isinstance(step, Candidates):
        return None
    for branch in reversed(at.behind):
        if branch.step == step:
            return branch
        if not (isinstance(branch.step, Test) and branch.step.excludes(step)):
            return None
    return None


def function_body(sequences: Iterable[tuple[Sequence[Step], str]], at_end: str) -> str:
    """The body of a function that tries some sequences; ``at_end`` is what it does if all fail."""
    lines: list[str] = []
    _write(merged(sequences).behind, 1, at_end, lines)
    lines.append(f" {at_end}")
    return "\n".join(lines) + "\n"


def _write(branches: Sequence[Branch], depth: int, leave: str, lines: list[str]) -> None:
    """``leave``: what to do when the last branch fails; "" where more comes behind it."""
    for position, branch in enumerate(branches):
        last = position == len(branches) - 1
        if branch.step is None:
            lines.append(" " * depth + branch.action)
        elif leave and last:
            _write_last(branch, depth, leave, lines)
        else:
            _write_inner(branch, depth, lines)


def _run(branch: Branch) -> tuple[list[Step], Sequence[Branch]]:
    """The steps up to the next fork or action, and what is behind them."""
    steps: list[Step] = []
    at = branch
    while at.step is not None:
        steps.append(at.step)
        if len(at.behind) != 1:
            break
        if at.behind[0].step is None:
            break
        at = at.behind[0]
    return steps, at.behind


def _write_last(branch: Branch, depth: int, leave: str, lines: list[str]) -> None:
    steps, behind = _run(branch)
    tests: list[str] = []

    def flush() -> None:
        if tests:
            lines.append(f"{' ' * depth}if not ({' and '.join(tests)}): {leave}")
            tests.clear()

    for step in steps:
        if isinstance(step, Test):
            tests.append(_atom(step.expression))
            continue
        flush()
        if isinstance(step, Bind):
            lines.append(f"{' ' * depth}{step.name} = {step.expression}")
        else:
            lines.append(f"{' ' * depth}for {step.name} in {step.expression}:")
            depth, leave = depth + 1, "continue"
    flush()
    _write(behind, depth, leave, lines)


def _write_inner(branch: Branch, depth: int, lines: list[str]) -> None:
    steps, behind = _run(branch)
    tests: list[str] = []
    for position, step in enumerate(steps):
        if isinstance(step, Test):
            tests.append(_atom(step.expression))
        elif isinstance(step, Bind):
            # Always true: the value is only kept.
            tests.append(f"({step.name} := {step.expression}) is not ...")
        else:
            depth = _open(tests, depth, lines)
            lines.append(f"{' ' * depth}for {step.name} in {step.expression}:")
            inner = steps[position + 1 :]
            _write_loop(inner, behind, depth + 1, lines)
            return
    depth = _open(tests, depth, lines)
    _write(behind, depth, "", lines)


def _write_loop(
    steps: Sequence[Step], behind: Sequence[Branch], depth: int, lines: list[str]
) -> None:
    """The inside of a loop, where failing means to go on with the next candidate."""
    rest = list(behind)
    for step in reversed(steps):
        rest = [Branch(step, behind=rest)]
    _write(rest, depth, "continue", lines)


def _open(tests: list[str], depth: int, lines: list[str]) -> int:
    if not tests:
        return depth
    lines.append(f"{' ' * depth}if {' and '.join(tests)}:")
    return depth + 1


def _atom(expression: str) -> str:
    """An expression that can stand between ``and``."""
    simple = not any(word in expression for word in (" or ", " if ", ":=", "lambda"))
    return expression if simple else f"({expression})"
