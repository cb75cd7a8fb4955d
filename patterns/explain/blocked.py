"""The ops of a model that were left in float, grouped by what blocks them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from qrewrite.engine.graph import Model, Node

from ..compiler.anchor import is_quantizer
from .anchored import Anchored
from .cause import Cause, Kind
from .closest import COMPLETE, rank_of
from .interpreter import Interpreter
from .refusal import Trials

_ALSO = 2
"""Further rules that are named."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Nodes of one op with one cause; the values shown are those of the first."""

    op: str
    nodes: tuple[str, ...]
    cause: Cause | None
    """None: no rule mentions the op."""
    also: tuple[tuple[str, str], ...] = ()
    """Further rules that came close, and what each asks for."""


@dataclass(slots=True)
class _Group:
    first: Node
    pattern: Anchored | None
    cause: Cause | None
    nodes: list[Node] = field(default_factory=list)


def quantized_neighbours(node: Node) -> bool:
    """A DQ feeds it, or a Q takes what it makes."""
    if is_quantizer(node.op) or node.rule:
        return False
    for value in node.inputs:
        producer = value.producer if value is not None else None
        if producer is not None and producer.op.endswith("DequantizeLinear"):
            return True
    for output in node.outputs:
        if output is not None and any(_is_q(user.op) for user in output.uses):
            return True
    return False


def _is_q(op: str) -> bool:
    return op == "QuantizeLinear" or op == "com.microsoft::QuantizeLinear"


def stayed_float(model: Model) -> list[Node]:
    """The nodes to explain, in their order."""
    return [node for node in model.nodes() if quantized_neighbours(node)]


def blocked(
    nodes: Iterable[Node], trials: Trials, only: frozenset[str] = frozenset()
) -> list[Blocked]:
    """Why no rule took these nodes: the largest group first. ``only``: by rules of these names."""
    groups: dict[object, _Group] = {}
    for node in nodes:
        key, group = _sorted_in(node, trials, only)
        groups.setdefault(key, group).nodes.append(node)
    found = [_described(group, trials, only) for group in groups.values()]
    return sorted(_joined(found), key=lambda each: -len(each.nodes))


def _sorted_in(node: Node, trials: Trials, only: frozenset[str]) -> tuple[object, _Group]:
    """What nodes with the same cause have in common, and a new group for such."""
    best = trials.patterns.closest(node.op, only).at(node)
    fork = best.fork
    if fork is None:
        return node.op, _Group(node, None, None)
    if fork.rank[0] >= COMPLETE and fork.step is not None:
        return (node.op, fork, best.told), _Group(node, trials.nearest(fork, node, only), None)
    # Of a match of all of a pattern, and of a form that is another, the cause differs by the node.
    pattern = fork.candidates[0] if fork.step is None else trials.nearest(fork, node, only)
    cause = trials.cause_of(pattern, node)
    return (node.op, *_essence(cause)), _Group(node, pattern, cause)


def _essence(cause: Cause) -> tuple[object, ...]:
    """What two nodes with one cause have in common: all but names and numbers."""
    facts: tuple[str, ...] = ()
    if cause.kind in (Kind.REFUSED, Kind.STRUCTURE):
        facts = tuple(re.sub(r"'[^']*'|[\d.]+", "", fact) for fact in cause.facts)
    behind = _essence(cause.behind) if cause.behind is not None else ()
    return cause.rule, cause.kind, cause.words, cause.within, facts, behind


def _described(group: _Group, trials: Trials, only: frozenset[str]) -> Blocked:
    node, cause = group.first, group.cause
    names = tuple(each.known_as for each in group.nodes)
    if group.pattern is None:
        return Blocked(node.op, names, None)
    if cause is None:
        cause = trials.cause_of(group.pattern, node)
    return Blocked(node.op, names, cause, _also(node, cause, trials, only))


def _joined(found: Sequence[Blocked]) -> list[Blocked]:
    """Groups that were told apart and turn out to have one cause in the same words."""
    by_words: dict[object, Blocked] = {}
    for each in found:
        told = each.cause.facts if each.cause is not None else ()
        essence = _essence(each.cause) if each.cause is not None else ()
        key = (each.op, essence, tuple(re.sub(r"'[^']*'|[\d.]+|_\w+", "", fact) for fact in told))
        known = by_words.get(key)
        if known is None:
            by_words[key] = each
        else:
            by_words[key] = Blocked(each.op, known.nodes + each.nodes, known.cause, known.also)
    return list(by_words.values())


def _also(
    node: Node, cause: Cause, trials: Trials, only: frozenset[str]
) -> tuple[tuple[str, str], ...]:
    """The next rules by closeness: those of which all nodes are there and which do more than help
    others, and those that an option alone switches off."""
    interpreter: Interpreter = trials.interpreter
    found: dict[str, tuple[tuple[object, ...], Cause]] = {}
    for pattern in trials.patterns.closest(node.op, only).patterns:
        name = pattern.variant.rule.source.full_name
        stop = interpreter.run(pattern.steps, interpreter.at(node))
        rank = rank_of(pattern, stop.position)
        close = rank[0] > COMPLETE or pattern.switch <= stop.position < len(pattern.steps)
        if name == cause.rule or not close or (name in found and found[name][0] >= rank):
            continue
        found[name] = (rank, trials.cause_of(pattern, node))
    ranked = sorted(found.items(), key=lambda item: item[1][0], reverse=True)
    return tuple((name, each.words) for name, (_, each) in ranked[:_ALSO])
