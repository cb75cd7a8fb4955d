"""One rewrite on the least part of a graph that shows what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnx import ModelProto, NodeProto

from qrewrite.engine.errors import QrewriteError
from qrewrite.engine.graph import Node
from qrewrite.engine.protocols import Rule
from qrewrite.patterns.explain.recording import Firing
from qrewrite.patterns.packs.pack import PackRule
from qrewrite.rewriting import Program

from .application import Applier
from .bodies import Opened
from .comparison import InvalidCase, Original, judge, may_saturate
from .extract import extract, rings, smallest
from .sessions import Array


@dataclass(frozen=True)
class Fault:
    """A model, what a rule makes of it, and inputs on which these differ."""

    problem: str
    before: ModelProto
    after: ModelProto
    inputs: dict[str, Array]


def isolate(
    program: Program, rule: PackRule, firing: Firing, graphs: Sequence[Opened]
) -> Fault | None:
    """The least part around a match in which the rule alone breaks its claim; None if none does.

    `graphs`: the model before the rewrite, with its values.
    """
    applier = Applier(program.pack, rule)
    for graph in graphs:
        core = _matched(firing, graph.model)
        if core:
            trial = _Trial(applier, program, rule, _name_of(firing, graph.model), graph)
            return trial.least(core)
    return None


class _Trial:
    """A rule that is applied at one node of parts of a graph."""

    def __init__(
        self, applier: Applier, program: Program, rule: PackRule, anchor: str, graph: Opened
    ) -> None:
        self.applier = applier
        self.options = program.options
        self.rule = rule
        self.anchor = anchor
        self.graph = graph

    def least(self, core: Sequence[int]) -> Fault | None:
        for chosen in rings(self.graph.model, core):
            if self.fault(chosen) is not None:
                return self.fault(smallest(chosen, lambda part: self.fault(part) is not None))
        return None

    def fault(self, chosen: Sequence[int]) -> Fault | None:
        cut = extract(self.graph, chosen)
        if cut is None:
            return None
        model, inputs = cut
        try:
            rewritten = self.applier.apply(model, self.options, filter=self._here)
            original = Original(model, [inputs])
        except (InvalidCase, QrewriteError):
            return None
        if not rewritten.fired:
            return None
        exempt = may_saturate(rewritten.model) and self.options.get("target") != "x86"
        claim = self.rule.rule.claim
        judged = judge(original, rewritten.model, claim, (), not exempt)
        return Fault(judged.problem, model, rewritten.model, inputs) if judged.problem else None

    def _here(self, rule: Rule, node: Node) -> bool:
        """Rules that must follow may fire anywhere."""
        return rule.name != self.rule.name or node.known_as == self.anchor


def _matched(firing: Firing, model: ModelProto) -> list[int]:
    """The nodes of a match, by index, the anchor first."""
    found = [_find(node, model) for node in firing.nodes()]
    return [index for index in dict.fromkeys(found) if index is not None]


def _name_of(firing: Firing, model: ModelProto) -> str:
    index = _find(firing.node, model)
    if index is None:
        return ""
    proto = model.graph.node[index]
    return str(proto.name or next(name for name in proto.output if name))


def _find(node: Node, model: ModelProto) -> int | None:
    """The node by its outputs; by its name where a branch's outputs became those of its If."""
    outputs = {value.name for value in node.outputs if value is not None}
    same_op = [(i, proto) for i, proto in enumerate(model.graph.node) if _op(proto) == node.op]
    for index, proto in same_op:
        if outputs & set(proto.output):
            return index
    return next((i for i, proto in same_op if node.name and proto.name == node.name), None)


def _op(proto: NodeProto) -> str:
    domain = "" if proto.domain in ("", "ai.onnx") else f"{proto.domain}::"
    return f"{domain}{proto.op_type}"
