"""What stands in the way of a rule that matches: its computations, the engine, or its ``then``.

The replacement is committed on trial and taken back: the graph is left as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from qrewrite.engine.edits.change import Change
from qrewrite.engine.edits.replace import commit
from qrewrite.engine.errors import QrewriteError, Refused
from qrewrite.engine.graph import Model, Node
from qrewrite.engine.protocols import Context, Rule
from qrewrite.engine.run.nearby import nodes_beside

from ..compiler.steps import Bind, Test
from ..syntax import Let
from .anchored import Anchored, Part
from .cause import Cause, Kind, cause, cause_of_part, cause_of_stop
from .closest import COMPLETE, Fork, Patterns, rank_of
from .facts import values_read
from .interpreter import Environment, Stop
from .reading import Reader
from .structure import Finding
from .words import words

Allows = Callable[[Rule, Node], bool]
_DEEPEST = 4
"""Rules behind rules by ``then`` that are followed."""


class Trials:
    """Tries what matches, and says why it does not apply."""

    def __init__(
        self, model: Model, patterns: Patterns, options: Mapping[str, object], allows: Allows
    ) -> None:
        self.model = model
        self.patterns = patterns
        self.options = options
        self.allows = allows
        self.interpreter = patterns.interpreter

    def cause_of(self, pattern: Anchored, node: Node, depth: int = 0) -> Cause:
        """Why the rule of this pattern does not apply at ``node``, a node of the pattern."""
        stop = self.interpreter.run(pattern.steps, self.interpreter.at(node))
        if stop.position < len(pattern.steps):
            return cause_of_stop(pattern, stop, self.interpreter)
        rule = pattern.variant.rule
        anchor = stop.environment[pattern.places.at(pattern.variant.anchor)]
        if anchor is not node:
            pattern = self.patterns.anchored(pattern.variant, pattern.variant.anchor)
            stop = self.interpreter.run(pattern.steps, self.interpreter.at(anchor))
            if stop.position < len(pattern.steps):
                # A chain or a repeated part is found from there in another order.
                return cause_of_stop(pattern, stop, self.interpreter)
        if not self.allows(rule, anchor):
            finding = Finding("--only or --skip", ("they hold the rule back here",), None)
            return cause(pattern, stop, Kind.EXCLUDED, finding)
        return self._of_match(pattern, stop, anchor, depth)

    def _of_match(self, pattern: Anchored, stop: Stop, anchor: Node, depth: int) -> Cause:
        context = Context(self.model, anchor.graph, self.options)
        failed = self._computing(pattern, stop, context)
        if failed is not None:
            return failed
        rule = pattern.variant.rule
        arguments = pattern.variant.found.arguments
        values = [self.interpreter.value(each, stop.environment) for each in arguments]
        try:
            replacement = rule.rewrite((pattern.variant, *values), context)
            if replacement is None:
                return _refused(pattern, stop, "what it computes is not known")
            change = commit(replacement, pattern.variant.rule.source.full_name)
        except (Refused, QrewriteError) as reason:
            return _refused(pattern, stop, str(reason))
        try:
            if not rule.then:
                return cause(pattern, stop, Kind.APPLIES, Finding("nothing", (), None))
            behind = self._behind(rule.then, change, depth + 1)
        finally:
            change.undo()
        said = f"then {' or '.join(rule.then)}"
        if behind is not None and behind.kind is Kind.APPLIES:
            return cause(pattern, stop, Kind.APPLIES, Finding("nothing", (), None))
        facts = ("none of them applies to the result",)
        return cause(pattern, stop, Kind.THEN, Finding(said, facts, None), "", behind)

    # -- let, and conditions on what it binds

    def _computing(self, pattern: Anchored, stop: Stop, context: Context) -> Cause | None:
        found = pattern.variant.found
        values = zip(found.parameters, found.arguments, strict=True)
        given = {name: self.interpreter.value(text, stop.environment) for name, text in values}
        environment = self.interpreter.around(given)
        environment |= {"context": context, "graph": context.graph}
        try:
            inner = self.interpreter.run(found.computing, environment)
        except QrewriteError as reason:
            return _refused(pattern, stop, str(reason))
        if inner.position == len(found.computing):
            return None
        # Captures have the names of the match, and what `let` binds its own.
        both: Environment = stop.environment | {
            step.name: environment[step.name]
            for step in found.computing
            if isinstance(step, Bind) and step.name in environment
        }
        reader = Reader(pattern.flat, pattern.places, self.interpreter, both)
        step = found.computing[inner.position]
        assert isinstance(step, Test)
        part = _waiting_part(pattern, step, reader)
        if part is not None:
            return cause_of_part(pattern, part, stop, reader, Kind.COMPUTATION)
        return cause(pattern, stop, Kind.COMPUTATION, _let_finding(pattern, step, reader))

    # -- then

    def _behind(self, then: tuple[str, ...], change: Change, depth: int) -> Cause | None:
        """The rule of ``then`` that comes closest on what a change has made."""
        best: Fork | None = None
        where: Node | None = None
        only = frozenset(then)
        for near in nodes_beside(change):
            fork = self.patterns.closest(near.op, only).at(near).fork
            if fork is not None and (best is None or fork.rank > best.rank):
                best, where = fork, near
        if best is None or where is None or depth > _DEEPEST:
            return None
        return self.cause_of(self.nearest(best, where, only), where, depth)

    def nearest(self, fork: Fork, node: Node, only: frozenset[str] = frozenset()) -> Anchored:
        """Of the patterns that fail at a step the closest at a node."""
        closest = self.patterns.closest(node.op, only)
        if fork.rank[0] < COMPLETE:
            return closest.most_alike(node, closest.patterns)
        found = [each for each in fork.candidates if rank_of(each, fork.position) == fork.rank]
        return closest.most_alike(node, found) if len(found) > 1 else found[0]


def _refused(pattern: Anchored, stop: Stop, reason: str) -> Cause:
    return cause(pattern, stop, Kind.REFUSED, Finding("the replacement", (reason,), None))


def _waiting_part(pattern: Anchored, step: Test, reader: Reader) -> Part | None:
    """The condition behind ``let`` for which a test stands; one guard may stand for several."""
    found = [part for part in pattern.waiting if part.condition.expression.span == step.span]
    for part in found:
        if not reader.holds(part.condition.expression, part.condition.scope):
            return part
    return found[0] if found else None


def _let_finding(pattern: Anchored, step: Test, reader: Reader) -> Finding:
    """``c = quantize_bias(b, s)`` cannot be computed, with what it is computed from."""
    rule = pattern.variant.rule.source.rule
    for clause in rule.clauses:
        if not isinstance(clause, Let):
            continue
        for name, expression in clause.bindings:
            if step.words.startswith(f"{name} "):
                said = f"let {name} = {words(expression)}"
                facts = values_read(expression, pattern.flat.scope, reader)
                return Finding(said, ("cannot be computed", *facts), expression.span)
    return Finding(step.words, (), step.span)
