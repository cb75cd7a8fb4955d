"""The steps of one variant of a rule from any of its nodes, each knowing what it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..compiler.conditions import add_condition, cost
from ..compiler.flat import Computed, Condition, Flat, FlatChain, FlatNode, FlatValue, ValueOperand
from ..compiler.helpers import Helpers
from ..compiler.places import ANCHOR, Places
from ..compiler.references import bindings_in, guard_scope, operands_of
from ..compiler.repetition import Matching
from ..compiler.steps import Step, Steps, Test
from ..packs.pack import Pack
from ..program import Variant
from ..syntax import Call, Expr, Logical, Name


@dataclass(frozen=True, slots=True)
class Part:
    """A condition that must hold, and the guards by way of which the rule asks for it."""

    condition: Condition
    trail: tuple[Call, ...] = ()


@dataclass(eq=False, frozen=True, slots=True)
class Anchored:
    """A variant as found from one of its nodes; from its anchor the steps are the matcher's."""

    variant: Variant
    node: FlatNode
    places: Places
    steps: tuple[Step, ...]
    parts: dict[int, Part]
    """By the position of a test: the condition that it stands for."""
    structure: int
    """The steps before the conditions: those about nodes, values and attributes."""
    reached: tuple[int, ...]
    """For each step, and behind the last: how many nodes of the pattern are found before it."""
    waiting: tuple[Part, ...]
    """Conditions that need what ``let`` binds."""
    switch: int
    """The first step that asks for another value of an option; the number of steps if none does.
    Those steps come last."""

    @property
    def flat(self) -> Flat:
        return self.variant.flat


def anchored(variant: Variant, node: FlatNode, helpers: Helpers) -> Anchored:
    """The steps from ``node``, which must not be inside what repeats."""
    # The builder decides which names of `let` are absent in this variant.
    _ = variant.found
    flat, steps, places = variant.flat, Steps(), Places()
    Matching(flat, helpers, steps, places).from_node(node, ANCHOR, known_op=True)
    structure = len(steps.items)
    found = [
        part for each in flat.conditions for part in taken_apart(Part(each), flat, helpers.pack)
    ]
    waiting = tuple(each for each in found if _waits(each.condition, flat, helpers.pack))
    now = [each for each in found if each not in waiting]
    parts: dict[int, Part] = {}
    now.sort(key=lambda each: cost(each.condition, flat, helpers.pack))
    now.sort(key=lambda each: asks_options(each.condition, flat, helpers.pack))
    switch = None
    for part in now:
        before = len(steps.items)
        add_condition(part.condition, flat, helpers, places, steps)
        parts |= {position: part for position in range(before, len(steps.items))}
        if switch is None and asks_options(part.condition, flat, helpers.pack):
            added = range(before, len(steps.items))
            switch = next((each for each in added if not _holds(steps.items[each], helpers)), None)
    reached = tuple(_reached(steps.items, places, flat))
    return Anchored(
        variant,
        node,
        places,
        tuple(steps.items),
        parts,
        structure,
        reached,
        waiting,
        len(steps.items) if switch is None else switch,
    )


def asks_options(condition: Condition, flat: Flat, pack: Pack) -> bool:
    """Whether a condition reads options, and nothing of the graph."""
    expression = condition.expression
    return (
        condition.attribute is None
        and not bindings_in(expression, condition.scope, flat, pack)
        and "options" in names_in(expression)
    )


def names_in(expression: Expr) -> set[str]:
    found = {expression.id} if isinstance(expression, Name) else set()
    return found.union(*(names_in(operand) for operand in operands_of(expression)))


def _holds(step: Step, helpers: Helpers) -> bool:
    """Of a step about options, whose values are written into it."""
    return not isinstance(step, Test) or bool(eval(step.expression, dict(helpers.globals)))


def taken_apart(part: Part, flat: Flat, pack: Pack) -> Iterator[Part]:
    """As the compiler takes conditions apart, but with the guards that were looked into."""
    expression, scope = part.condition.expression, part.condition.scope
    if part.condition.attribute is not None:
        yield part
    elif isinstance(expression, Logical) and expression.operator == "and":
        for operand in expression.operands:
            yield from taken_apart(Part(Condition(operand, scope), part.trail), flat, pack)
    elif isinstance(expression, Call) and expression.function in pack.guards:
        inner = guard_scope(expression, scope, flat, pack)
        for each in pack.guards[expression.function].conditions:
            trail = (*part.trail, expression)
            yield from taken_apart(Part(Condition(each, inner), trail), flat, pack)
    else:
        yield part


def _waits(condition: Condition, flat: Flat, pack: Pack) -> bool:
    found = bindings_in(condition.expression, condition.scope, flat, pack)
    return any(isinstance(each, Computed) for each in found)


def _reached(steps: list[Step], places: Places, flat: Flat) -> Iterator[int]:
    subjects = {f"{places.at(node)}.op" for node in flat.nodes}
    count = 1
    for step in steps:
        yield count
        count += isinstance(step, Test) and step.subject in subjects
    yield count


def things(flat: Flat, places: Places) -> dict[str, FlatNode | FlatValue | FlatChain]:
    """What each variable of the steps stands for."""
    found: list[FlatNode | FlatValue | FlatChain] = [*flat.nodes, *flat.chains]
    for node in flat.nodes:
        found += [value for value in node.outputs if value is not None]
        found += [each.value for each in node.operands if isinstance(each, ValueOperand)]
    found += flat.entries
    placed = ((places.find(thing), thing) for thing in found)
    return {text: thing for text, thing in placed if text is not None}
