"""Which node of a pattern matching starts from."""

from __future__ import annotations

from ..diagnostics import failure
from .flat import Flat, FlatChain, FlatNode, FlatValue, Role, ValueOperand

_MANY = 4
"""An op set of so many ops says little about a node."""


def anchor_of(flat: Flat) -> FlatNode:
    """The most telling node: not a Q or DQ, one op rather than many, and near the root.

    A node that other variants of the rule lack is avoided, so that all are tried at one place.
    """
    if not flat.nodes:
        raise failure("a pattern needs a node beside its chains", flat.chains[0].span)
    depths = _depths(flat)
    return min(
        flat.nodes,
        key=lambda node: (
            all(is_quantizer(op) for op in node.ops),
            node.optional,
            len(node.ops) >= _MANY,
            node.role is Role.BORROWED,
            depths.get(node, 0),
        ),
    )


def is_quantizer(op: str) -> bool:
    return op.rpartition("::")[2] in ("QuantizeLinear", "DequantizeLinear")


def _depths(flat: Flat) -> dict[FlatNode, int]:
    """The number of nodes between each node and the root that is furthest from it."""
    depths: dict[FlatNode, int] = {}

    def visit(node: FlatNode, depth: int) -> None:
        if depths.get(node, -1) >= depth:
            return
        depths[node] = depth
        for operand in node.operands:
            if isinstance(operand, ValueOperand):
                follow(operand.value, depth + 1)

    def follow(value: FlatValue, depth: int) -> None:
        producer = value.producer
        while isinstance(producer, FlatChain):
            producer = producer.source.producer
        if isinstance(producer, FlatNode) and producer in flat.nodes:
            visit(producer, depth)

    for node in flat.nodes:
        if node.role is not Role.OWNED:
            visit(node, 0)
    return depths
