"""The conditions of a pattern as steps: cheap ones first, each knowing the words it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from ..diagnostics import failure
from ..functions import Accepts, functions
from ..packs.pack import Pack
from ..syntax import Binary, Call, Compare, Field, Logical, Member, Name
from .calls import matched
from .code import Kind
from .flat import (
    AttributeOf,
    AttributesOf,
    Binding,
    Computed,
    Condition,
    Each,
    Flat,
    FlatNode,
    FlatValue,
    OperandsOf,
    Source,
)
from .helpers import Helpers
from .places import Places
from .references import binding_of, bindings_in, guard_scope, operands_of
from .steps import Steps
from .truth import Truth

_SHAPE, _SCALE, _CONTENT = 2, 3, 4


def add_conditions(flat: Flat, helpers: Helpers, places: Places, steps: Steps) -> list[Condition]:
    """Add the steps of a pattern's conditions; returns those that must wait for a ``let``.

    A condition is taken apart into those that must all hold, and these are put in the order of
    their cost; of equal cost they stay in the order of the rule.
    """
    parts = [part for each in flat.conditions for part in taken_apart(each, flat, helpers.pack)]
    now: list[tuple[int, Condition]] = []
    waiting: list[Condition] = []
    for condition in parts:
        if any(isinstance(found, Computed) for found in _bindings(condition, flat, helpers.pack)):
            waiting.append(condition)
        else:
            now.append((cost(condition, flat, helpers.pack), condition))
    for _, condition in sorted(now, key=itemgetter(0)):
        add_condition(condition, flat, helpers, places, steps)
    return waiting


def taken_apart(condition: Condition, flat: Flat, pack: Pack) -> Iterator[Condition]:
    """The conditions that must all hold for one to hold; guards are looked into."""
    expression, scope = condition.expression, condition.scope
    if condition.attribute is not None:
        yield condition
    elif isinstance(expression, Logical) and expression.operator == "and":
        for operand in expression.operands:
            yield from taken_apart(Condition(operand, scope), flat, pack)
    elif isinstance(expression, Call) and expression.function in pack.guards:
        guard = pack.guards[expression.function]
        inner = guard_scope(expression, scope, flat, pack)
        if len(inner.names) != len(guard.parameters):
            count = len(guard.parameters)
            raise failure(f'"{guard.name}" takes {count} arguments', expression.span)
        for each in guard.conditions:
            yield from taken_apart(Condition(each, inner), flat, pack)
    else:
        yield condition


def add_condition(
    condition: Condition, flat: Flat, helpers: Helpers, places: Places, steps: Steps
) -> None:
    """Add one condition; on a list it holds for every element."""
    expression = condition.expression
    lists = {
        each
        for found in _bindings(condition, flat, helpers.pack)
        if (each := _repetition(found)) is not None
    }
    if lists and (text := _on_lists(condition, flat, helpers, places, lists)):
        steps.test(text, expression.span)
        return
    writer = Truth(flat, helpers, places, steps)
    text = _text(condition, writer, True)
    if text != "True":
        steps.test(text, expression.span)


def _text(condition: Condition, writer: Truth, strict: bool) -> str:
    if condition.attribute is None:
        return writer.holds(condition.expression, condition.scope, strict)
    wanted = writer.value(condition.expression, condition.scope, strict)
    found = writer.attribute(condition.attribute, strict)
    if condition.attribute.part_of is not None and condition.attribute.attribute == "axis":
        return writer.same_axis(condition.attribute.part_of, found, wanted)
    return writer.comparison(found, "==", wanted, True)


def _on_lists(
    condition: Condition, flat: Flat, helpers: Helpers, places: Places, lists: set[Each]
) -> str:
    """A call of a function that goes through lists; "" if the condition takes them as a whole."""
    inner = Places(places)
    writer = Truth(flat, helpers, inner)
    text = _text(condition, writer, False)
    if not writer.lists:
        return ""
    if len({_group(each) for each in lists}) > 1:
        message = "this compares lists that need not have the same number of elements"
        raise failure(message, condition.expression.span)
    elements = ", ".join(writer.lists.values())
    source = ", ".join(writer.lists)
    if len(writer.lists) > 1:
        source = f"zip({source}, strict=True)"
    body = f" for {elements} in {source}:\n  if not ({text}): return False\n return True\n"
    function = helpers.function(", ".join(inner.arguments.values()), body)
    return f"{function}({', '.join(inner.arguments)})"


def _group(each: Each) -> Each:
    """Repetitions over the lists of another have as many elements as that."""
    while each.source is Source.LISTS and each.over[0].each is not None:
        each = each.over[0].each
    return each


def _bindings(condition: Condition, flat: Flat, pack: Pack) -> tuple[Binding, ...]:
    found = bindings_in(condition.expression, condition.scope, flat, pack)
    return found if condition.attribute is None else (*found, condition.attribute)


def _repetition(found: object) -> Each | None:
    if isinstance(found, AttributeOf | OperandsOf | AttributesOf):
        return found.node.each
    return found.each if isinstance(found, FlatValue | FlatNode) else None


# ---- cost --------------------------------------------------------------------------------------


def cost(condition: Condition, flat: Flat, pack: Pack) -> int:
    """0 and 1 for types and attributes, then shapes, scales, and the content of whole tensors."""
    expression, scope = condition.expression, condition.scope
    found = 1 if condition.attribute is not None else 0
    if isinstance(expression, Call) and expression.function in pack.guards:
        inner = guard_scope(expression, scope, flat, pack)
        guard = pack.guards[expression.function]
        return max(cost(Condition(each, inner), flat, pack) for each in guard.conditions)
    if isinstance(expression, Call):
        found = max(found, _cost_of_call(expression, condition, flat))
    if isinstance(expression, Compare | Member | Binary) and any(
        isinstance(each, Name | Field) and isinstance(binding_of(each, scope, flat), FlatValue)
        for each in operands_of(expression)
    ):
        found = max(found, _SCALE)
    if isinstance(expression, Name | Field):
        binding = binding_of(expression, scope, flat)
        if isinstance(binding, AttributeOf):
            found = max(found, _SHAPE if binding.part_of is not None else 1)
    inside = (Condition(each, scope) for each in operands_of(expression))
    return max([found, *(cost(each, flat, pack) for each in inside)])


def _cost_of_call(call: Call, condition: Condition, flat: Flat) -> int:
    function = functions().get(call.function)
    if function is None:
        return 1
    found = 1
    for parameter, argument in matched(function, call):
        if argument is None:
            continue
        binding = binding_of(argument, condition.scope, flat)
        match parameter.accepts:
            case Accepts.TENSOR | Accepts.LIST:
                is_part = isinstance(argument, Field) or not isinstance(binding, FlatValue)
                found = max(found, _SCALE if is_part else _CONTENT)
            case Accepts.QUANTIZED:
                found = max(found, _SCALE)
            case Accepts.SCALE | Accepts.VALUE:
                quick = call.function in ("is_const", "is_output", "is_input", "use_count")
                found = max(found, 1 if quick else _SHAPE)
            case _:
                pass
    return found


__all__ = ["Kind", "add_condition", "add_conditions", "cost", "taken_apart"]
