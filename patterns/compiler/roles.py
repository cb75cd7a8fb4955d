"""Which nodes of a pattern are replaced, which go with them, and which are only read."""

from __future__ import annotations

from collections.abc import Mapping

from ..diagnostics import failure
from ..syntax import Quantifier
from .flat import (
    Consumers,
    Each,
    EachOperand,
    Flat,
    FlatChain,
    FlatNode,
    FlatValue,
    Role,
    Source,
    consumers_in,
)


def assign_roles(flat: Flat, replaced: frozenset[str], read: frozenset[str]) -> None:
    """Set the role of every node of a variant.

    ``replaced`` are the names that the template defines, ``read`` those that it takes as
    operands: a value that it reads but does not define stays, and so does its node.
    """
    _roles(flat, replaced, read, {}, looks_only=False)


def _roles(
    flat: Flat,
    replaced: frozenset[str],
    read: frozenset[str],
    entries: Mapping[FlatValue, FlatNode],
    looks_only: bool,
) -> None:
    redefined = _values(flat, replaced)
    kept = _values(flat, read) - redefined
    # What a connected set starts from is changed with the set, not by a node of the template.
    kept |= {start for _, start in flat.connected}
    consumers = consumers_in(flat)
    for value, node in entries.items():
        consumers.setdefault(value, []).append(node)
    for node in flat.nodes:
        made = _made(node)
        interior = any(consumers.get(value) for value in made if value not in redefined)
        if node.borrowed or kept.intersection(made):
            node.role = Role.BORROWED
        elif interior and not redefined.intersection(made):
            node.role = Role.OWNED
        elif redefined.intersection(made):
            node.role = Role.ROOT
        elif looks_only:
            node.role = Role.BORROWED
        else:
            note = "define its result in the template, or write & before a node that is only read"
            raise failure("this node is not replaced", node.span, note)
    _borrow_what_feeds_borrowed(flat, consumers)
    for each in _eaches(flat):
        _roles_inside(each, flat, replaced, read)


def _values(flat: Flat, names: frozenset[str]) -> set[FlatValue]:
    found = (flat.scope.names.get(name) for name in names)
    return {value for value in found if isinstance(value, FlatValue)}


def _made(node: FlatNode) -> list[FlatValue]:
    made = [value for value in node.outputs if value is not None]
    if node.each_output is not None:
        made += [slot for slot in node.each_output.slots if isinstance(slot, FlatValue)]
    return made


def _borrow_what_feeds_borrowed(flat: Flat, consumers: Consumers) -> None:
    """A node all of whose consumers may stay must stay with them."""
    changed = True
    while changed:
        changed = False
        for node in flat.nodes:
            if node.role is Role.OWNED and all(
                _may_stay(consumer)
                for value in _made(node)
                for consumer in consumers.get(value, ())
            ):
                node.role = Role.BORROWED
                changed = True


def _may_stay(consumer: FlatNode | FlatChain | Each) -> bool:
    if isinstance(consumer, FlatNode):
        return consumer.role is Role.BORROWED
    return isinstance(consumer, FlatChain) and consumer.borrowed


def _eaches(flat: Flat) -> list[Each]:
    inside = [
        operand.each
        for node in flat.nodes
        for operand in node.operands
        if isinstance(operand, EachOperand)
    ]
    return inside + flat.eaches


def _roles_inside(each: Each, flat: Flat, replaced: frozenset[str], read: frozenset[str]) -> None:
    looks_only = each.source is Source.USES
    if each.quantifier is Quantifier.NO:
        replaced = frozenset()
    for variant in each.variants:
        entries: dict[FlatValue, FlatNode] = {}
        if each.node is not None:
            entries = {value: each.node for value in variant.entries if value.home is variant}
        if each.source is Source.LISTS:
            for listed, element in zip(each.over, variant.entries, strict=True):
                element.owned = _is_owned(listed, flat)
        _roles(variant, replaced, read, entries, looks_only)
        each.removes |= any(node.role is not Role.BORROWED for node in variant.nodes)


def _is_owned(listed: FlatValue, flat: Flat) -> bool:
    return any(
        listed in _made(node) and node.role is Role.OWNED
        for node in flat.nodes
        if node.each_output is not None
    )
