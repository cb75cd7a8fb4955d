"""The rule that came closest at a node: all rules that know its op, as one tree of steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType

from qrewrite.engine.graph import Node

from ..compiler.anchor import is_quantizer
from ..compiler.codegen import Branch, merged
from ..compiler.flat import FlatNode
from ..compiler.helpers import Helpers
from ..compiler.places import ANCHOR
from ..compiler.steps import Candidates, Step, Test
from ..program import CompiledRule, Variant
from ..syntax import Call, Name
from .anchored import Anchored, Part, anchored
from .interpreter import Environment, Interpreter
from .terms import leaves_float

Rank = tuple[int, int, int, int]
"""How much of a pattern is there (see ``level_of``), nodes found, nodes in all, conditions that
hold. A greater one is closer."""

COMPLETE = 2
"""From this level on all nodes are there."""


@dataclass(eq=False, slots=True)
class Fork:
    """A step in the tree of all steps, and the patterns that cannot match where it fails."""

    step: CodeType | None
    name: str
    """The variable of a step that binds one."""
    is_test: bool
    candidates: tuple[Anchored, ...]
    position: int
    rank: Rank
    telling: CodeType | None = None
    """An expression whose value tells causes of one step apart: which op stands there instead."""
    behind: list[Fork] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Best:
    """The closest pattern so far."""

    fork: Fork | None = None
    told: object = None
    """The value of ``fork.telling``."""


class Closest:
    """All patterns with an op, tried together."""

    def __init__(self, patterns: Sequence[Anchored], interpreter: Interpreter) -> None:
        self.patterns = patterns
        self._interpreter = interpreter
        sequences = [(each.steps, str(index)) for index, each in enumerate(patterns)]
        root = merged(sequences)
        self._forks = [self._fork(branch, 0) for branch in root.behind]

    def _fork(self, branch: Branch, position: int) -> Fork:
        if branch.step is None:
            pattern = self.patterns[int(branch.action)]
            return Fork(None, "", False, (pattern,), position, rank_of(pattern, position))
        behind = [self._fork(each, position + 1) for each in branch.behind]
        candidates = tuple(pattern for each in behind for pattern in each.candidates)
        rank = max(rank_of(pattern, position) for pattern in candidates)
        step = branch.step
        code = self._interpreter.code(step.expression)
        name = "" if isinstance(step, Test) else step.name
        name = f"*{name}" if isinstance(step, Candidates) else name
        is_test = isinstance(step, Test)
        telling = self._telling(step, candidates[0], position)
        return Fork(code, name, is_test, candidates, position, rank, telling, behind)

    def _telling(self, step: Step, pattern: Anchored, position: int) -> CodeType | None:
        if not isinstance(step, Test):
            return None
        part = pattern.parts.get(position)
        if part is not None:
            kinds = sorted(set(_KIND.findall(step.expression)))
            return self._interpreter.code(f"({', '.join(kinds)},)") if kinds else None
        if step.subject.endswith(".op"):
            return self._interpreter.code(step.subject)
        found = _PRODUCER.fullmatch(step.expression)
        if found is None:
            return None
        return self._interpreter.code(f"({found[1]}.constant, {found[1]}.is_input)")

    def at(self, node: Node) -> Best:
        """Where the closest pattern fails; a fork without a step is a match of all of it."""
        best = Best()
        _walk(self._forks, self._interpreter.at(node), best)
        return best

    def most_alike(self, node: Node, patterns: Sequence[Anchored]) -> Anchored:
        """The pattern of which most nodes are there, also behind a node that is not.

        Where no pattern is there as a whole, how far each came says more of the order of its steps.
        """
        found = (pattern for pattern in patterns)
        return max(found, key=lambda pattern: self._likeness(node, pattern))

    def _likeness(self, node: Node, pattern: Anchored) -> tuple[bool, int, float, int, int, int]:
        """The share of the pattern's nodes that are there goes before their number: of a long
        pattern a few nodes are there by chance. An operand that is computed where a constant is
        asked for is as good as a node that is missing."""
        outcomes = self._interpreter.outcomes(pattern.steps, self._interpreter.at(node))
        ops = {
            position
            for position, step in enumerate(pattern.steps)
            if isinstance(step, Test) and step.subject.endswith(".op")
        }
        fits = sum(outcomes.get(position, False) for position in ops)
        failed = sum(not holds for position, holds in outcomes.items() if position not in ops)
        missing = len(ops) - fits + failed
        miscounted = sum(
            not outcomes.get(position, True)
            for position, step in enumerate(pattern.steps)
            if isinstance(step, Test) and step.subject == f"len({ANCHOR}I)"
        )
        computed = sum(
            not outcomes.get(position, True)
            for position, part in pattern.parts.items()
            if asks_constant(part)
        )
        size = len(pattern.flat.nodes)
        counts = level_of(pattern, False) > 0 and pattern.switch == len(pattern.steps)
        return counts, -miscounted, (1 + fits) / (size + computed), fits, size, -missing


def asks_constant(part: Part) -> bool:
    """Of an operand, as opposed to its scale."""
    expression = part.condition.expression
    return (
        isinstance(expression, Call)
        and expression.function == "is_const"
        and isinstance(expression.arguments[0], Name)
    )


_KIND = re.compile(r"\((\w+)\.dtype or type_of\(\1\)\)")
_PRODUCER = re.compile(r"(\w+)p is not None")


def _walk(forks: Iterable[Fork], environment: Environment, best: Best) -> None:
    for fork in forks:
        if fork.step is None:
            _note(fork, environment, best)
            continue
        found = eval(fork.step, environment)
        if fork.is_test:
            if found:
                _walk(fork.behind, environment, best)
            else:
                _note(fork, environment, best)
        elif fork.name[0] != "*":
            environment[fork.name] = found
            _walk(fork.behind, environment, best)
        else:
            _note(fork, environment, best)
            for candidate in found:
                environment[fork.name[1:]] = candidate
                _walk(fork.behind, environment, best)


def _note(fork: Fork, environment: Environment, best: Best) -> None:
    if best.fork is None or fork.rank > best.fork.rank:
        best.fork = fork
        best.told = None if fork.telling is None else eval(fork.telling, environment)


def rank_of(pattern: Anchored, position: int) -> Rank:
    """How close a pattern is that fails at a step; one that an option switches off is not."""
    level = level_of(pattern, position >= pattern.structure)
    if pattern.switch < len(pattern.steps):
        level = 0
    conditions = position - pattern.structure
    return level, pattern.reached[position], len(pattern.flat.nodes), conditions


def level_of(pattern: Anchored, is_complete: bool) -> int:
    """3: all nodes of a rule are there; 2: the same of one that helps others, and it stands between
    DQ and Q; 1: some nodes of a rule are; 0: of one that helps others.

    One that helps needs others behind it, makes room for them, or leaves an op on dequantized
    tensors.
    """
    rule = pattern.variant.rule
    if not rule.then and not rule.expands and not leaves_float(rule.source.rule):
        return 3 if is_complete else 1
    ops = {op.rpartition("::")[2] for node in pattern.flat.nodes for op in node.ops}
    return 2 if is_complete and {"QuantizeLinear", "DequantizeLinear"} <= ops else 0


class Patterns:
    """The patterns of the rules of a program by the ops of their nodes."""

    def __init__(self, rules: Iterable[CompiledRule], helpers: Helpers) -> None:
        self.interpreter = Interpreter(helpers)
        self.helpers = helpers
        self._by_op: dict[str, list[tuple[Variant, FlatNode]]] = {}
        self._closest: dict[tuple[str, frozenset[str]], Closest] = {}
        self._anchored: dict[tuple[Variant, FlatNode], Anchored] = {}
        for rule in rules:
            for variant in rule.variants:
                for node, op in _nodes(variant):
                    self._by_op.setdefault(op, []).append((variant, node))

    def closest(self, op: str, only: frozenset[str] = frozenset()) -> Closest:
        """The patterns with a node of this op; ``only``: of the rules of these names."""
        key = (op, only)
        if key not in self._closest:
            found = [
                self.anchored(variant, node)
                for variant, node in self._by_op.get(op, ())
                if not only or variant.rule.name in only
            ]
            self._closest[key] = Closest(list(_distinct(found)), self.interpreter)
        return self._closest[key]

    def anchored(self, variant: Variant, node: FlatNode) -> Anchored:
        key = (variant, node)
        if key not in self._anchored:
            self._anchored[key] = anchored(variant, node, self.helpers)
        return self._anchored[key]


def _nodes(variant: Variant) -> Iterator[tuple[FlatNode, str]]:
    """The nodes that compute, with each op they may be; where there is none the quantizers."""
    computing = [each for each in variant.flat.nodes if not all(map(is_quantizer, each.ops))]
    for node in computing or [variant.anchor]:
        for op in node.ops:
            yield node, op


def _distinct(patterns: Iterable[Anchored]) -> Iterator[Anchored]:
    """Commuting what is alike on both sides gives the same steps again."""
    seen = set()
    for pattern in patterns:
        key = (pattern.variant.rule, pattern.steps)
        if key not in seen:
            seen.add(key)
            yield pattern
