"""Applies the rules of phases to a model, by a worklist, until none of them matches any more.

A round runs every phase to its fixpoint. The first round looks at all nodes, the later ones at
what has changed since the phase last ran. When a round changes nothing, one full round more makes
sure that nothing is left, so that a second run on the result finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..edits.change import Change
from ..edits.dead import remove_dead_nodes
from ..edits.invariants import check_invariants, fingerprint
from ..edits.replace import commit
from ..errors import CycleError, InvariantError, QrewriteError, Refused, RuleError
from ..graph import Model, Node, describe
from ..protocols import Context, Matcher, Phase, Rule, full_name
from .bound import Bound
from .collector import collector_paused
from .nearby import nodes_beside, nodes_near
from .outcome import Applied, Outcome
from .worklist import Worklist

Filter = Callable[[Rule, Node], bool]
"""Whether a rule may be applied at a node."""
Progress = Callable[[str, int, int], None]
"""Called now and then with the phase's name, the nodes looked at so far, and those waiting."""

_PROGRESS_STEP = 2048
_DEEPEST_THEN = 16


def run(
    model: Model,
    phases: Sequence[Phase],
    options: Mapping[str, object] | None = None,
    *,
    filter: Filter | None = None,
    seed: int | None = None,
    checked: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Rewrite `model` in place by the rules of `phases`, phase by phase, to a fixpoint.

    Dead nodes of the model are removed if any rule applies. The same model, phases and options give
    the same result; `seed` shuffles the order in which nodes are looked at, for tests. `checked`
    verifies after every attempt that the graph is consistent, and that it changed exactly if it was
    reported to (slow, for tests). Raises CycleError, naming them, if rules feed each other without
    end; RuleError, naming rule and node, if a rule's own computation fails.
    """
    # Constants that rules compute may be infinite or NaN: their conditions look at that.
    with np.errstate(all="ignore"), collector_paused():
        return _Run(model, phases, options or {}, filter, seed, checked, progress).run()


class _Run:
    """The state of one `run`."""

    def __init__(
        self,
        model: Model,
        phases: Sequence[Phase],
        options: Mapping[str, object],
        filter: Filter | None,
        seed: int | None,
        checked: bool,
        progress: Progress | None,
    ) -> None:
        self.model = model
        self.phases = phases
        self.filter = filter
        self.seed = seed
        self.checked = checked
        self.progress = progress
        self.outcome = Outcome()
        self.contexts = {graph: Context(model, graph, options) for graph in model.graphs}
        self.rules = {rule.name: rule for phase in phases for rule in phase.rules}
        self.anchors_of = [{op for rule in phase.rules for op in rule.anchors} for phase in phases]
        self.anchors: set[str] = set().union(*self.anchors_of)
        self.all_nodes: list[Node] = []
        self.listed_at = -1
        """Number of rewrites when `all_nodes` was listed."""
        self.alone: dict[str, Matcher] = {}
        self.touched: list[Node] = []
        """Nodes to look at again, by all phases, in the order of the changes."""
        self.work = Worklist(())
        self.node: Node | None = None
        self.bound = Bound(sum(len(graph.node_list) for graph in model.graphs))

    def run(self) -> Outcome:
        """See `run`. If no rule fires, the model keeps even the dead nodes that it came with."""
        dead = remove_dead_nodes(self.model)
        self._run_rounds()
        if not self.outcome.applied:
            for change in reversed(dead):
                change.undo()
        return self.outcome

    def _run_rounds(self) -> None:
        seen = [0] * len(self.phases)
        everything = True
        while True:
            before = len(self.outcome.applied)
            for index, phase in enumerate(self.phases):
                nodes = self._all_nodes() if everything else self._touched_since(seen[index])
                anchors = self.anchors_of[index]
                self._run_phase(phase, [node for node in nodes if node.op in anchors])
                seen[index] = len(self.touched)
            if len(self.outcome.applied) > before:
                everything = False
            elif everything:
                return
            else:
                everything = True

    def _all_nodes(self) -> list[Node]:
        """Every node, outer graphs first, in topological order; listed again after a rewrite."""
        if self.listed_at != len(self.outcome.applied):
            self.listed_at = len(self.outcome.applied)
            self.all_nodes = list(self.model.nodes())
        return self.all_nodes

    def _touched_since(self, start: int) -> list[Node]:
        return [node for node in dict.fromkeys(self.touched[start:]) if node.alive]

    def _run_phase(self, phase: Phase, nodes: list[Node]) -> None:
        """Visit these nodes, and those around what changes, until none is left."""
        matchers: dict[str, Matcher | None] = {}
        work = self.work = Worklist(nodes, self.seed)
        fire = self._fire
        outcome, progress = self.outcome, self.progress
        for node in work:
            if not node.alive:
                continue
            op = node.op
            if op not in matchers:
                matchers[op] = phase.matcher(op)
            matcher = matchers[op]
            if matcher is None:
                continue
            self.node = node
            outcome.visits += 1
            try:
                matcher(node, fire)
            except Refused:
                continue
            except QrewriteError:
                raise
            except Exception as error:
                raise RuleError(f"a rule failed at {_describe(node)}: {error}") from error
            if progress is not None and outcome.visits % _PROGRESS_STEP == 0:
                progress(phase.name, outcome.visits, len(work))

    # ---- one match -----------------------------------------------------------------------------

    def _fire(self, rule: Rule, bindings: tuple[object, ...]) -> bool:
        node = self.node
        assert node is not None
        if not self.checked:
            return self._apply(rule, bindings, node)
        before = fingerprint(self.model)
        applied = self._apply(rule, bindings, node)
        if applied == (fingerprint(self.model) == before):
            said = "applied" if applied else "not applied"
            raise InvariantError(
                f"{full_name(rule)} was {said} at {_describe(node)}, yet the "
                f"graph {'did not change' if applied else 'changed'}"
            )
        check_invariants(self.model)
        return applied

    def _apply(self, rule: Rule, bindings: tuple[object, ...], node: Node) -> bool:
        change = self._commit(rule, bindings, node)
        if change is None:
            return False
        if rule.then and not self._continues(rule, change, 1):
            change.undo()
            self._refuse(rule, f"none of {', '.join(rule.then)} would apply to the result")
            return False
        self.outcome.applied.append(_applied(rule, node))
        self.bound.count(rule, change)
        near = nodes_near(change, self.anchors)
        self.touched += near
        for other in near:
            self.work.add(other)
        return True

    def _commit(self, rule: Rule, bindings: tuple[object, ...], node: Node) -> Change | None:
        if self.filter is not None and not self.filter(rule, node):
            return None
        try:
            replacement = rule.rewrite(bindings, self.contexts[node.graph])
            return commit(replacement, full_name(rule)) if replacement is not None else None
        except Refused as reason:
            self._refuse(rule, str(reason))
        except QrewriteError as error:
            raise RuleError(f"rule {full_name(rule)} at {_describe(node)}: {error}") from error
        except Exception as error:
            raise RuleError(
                f"rule {full_name(rule)} failed at {_describe(node)}: {error}"
            ) from error
        return None

    def _refuse(self, rule: Rule, reason: str) -> None:
        refused = self.outcome.refused
        key = (full_name(rule), reason)
        refused[key] = refused.get(key, 0) + 1

    # ---- `then` --------------------------------------------------------------------------------

    def _continues(self, rule: Rule, change: Change, depth: int) -> bool:
        """Whether one of `rule.then` would apply next to the change; the graph is left as it is."""
        if depth > _DEEPEST_THEN:
            raise CycleError(f"the 'then' of rule {full_name(rule)} leads back to itself")

        def try_one(after: Rule, bindings: tuple[object, ...]) -> bool:
            later = self._commit(after, bindings, near)
            if later is None:
                return False
            fits = not after.then or self._continues(after, later, depth + 1)
            later.undo()
            return fits

        followers = [self.rules[name] for name in rule.then if name in self.rules]
        for near in nodes_beside(change):
            for after in followers:
                if near.op in after.anchors and self._matcher_of(after)(near, try_one):
                    return True
        return False

    def _matcher_of(self, rule: Rule) -> Matcher:
        if rule.name not in self.alone:
            self.alone[rule.name] = rule.matcher()
        return self.alone[rule.name]


def _applied(rule: Rule, node: Node) -> Applied:
    outputs = tuple([value.name for value in node.outputs if value is not None])
    return Applied(rule.name, rule.pack, node.name, node.op, outputs)


def _describe(node: Node) -> str:
    return describe(node.op, node.name, node.known_as)
