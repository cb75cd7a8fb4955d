"""Which op a node of a template has."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import failure
from ..packs.pack import op_key
from ..syntax import OpName
from .flat import Binding, Flat, FlatNode, FlatValue, Scope, ValueOperand
from .helpers import Helpers
from .truth import Truth

_QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")


@dataclass(frozen=True, slots=True)
class Op:
    text: str
    """The Python text of the op as in ``Node.op``."""
    microsoft: bool
    """Its scales and zero points have rank 0."""


def op_text(op: OpName, scope: Scope, writer: Truth, helpers: Helpers) -> Op:
    """``Conv``, ``op`` (a label: the matched op), ``com.microsoft::QLinear{op}``."""
    if op.slot is not None:
        return _with_slot(op, scope, writer)
    labelled = scope.find(op.name) if not op.domain else None
    if isinstance(labelled, FlatNode):
        return Op(f"{writer.at(labelled)}.op", False)
    if op.name in helpers.pack.op_sets and not op.domain:
        note = "label the matched node, and write the label"
        raise failure(f'"{op.name}" is a set of ops', op.span, note)
    quantizing = op.name in _QUANTIZERS
    return Op(repr(op_key(op)), op.domain == "com.microsoft" and not quantizing)


def _with_slot(op: OpName, scope: Scope, writer: Truth) -> Op:
    found = scope.find(op.slot or "")
    if not isinstance(found, FlatNode):
        raise failure(f'"{op.slot}" is not the label of a node', op.span)
    place = writer.at(found)
    if not (op.domain or op.name or op.suffix):
        return Op(f"{place}.op", False)
    before = f"{op.domain}::{op.name}" if op.domain else op.name
    text = f"{before!r} + op_name({place})"
    return Op(text + (f" + {op.suffix!r}" if op.suffix else ""), op.domain == "com.microsoft")


def is_quantizer(text: str) -> bool:
    """Whether an op is written as one of ONNX's two, whose domain is chosen at the match."""
    return text in map(repr, _QUANTIZERS)


def matched_quantizer(tensor: Binding | None, flat: Flat) -> FlatNode | None:
    """The matched Q or DQ of a tensor; of one that the rule makes, any of the match."""
    nodes = [node for node in flat.nodes if all(_quantizes(op) for op in node.ops)]
    if isinstance(tensor, FlatValue):
        for node in nodes:
            operand = node.operands[0] if node.operands else None
            if tensor in node.outputs:
                return node
            if isinstance(operand, ValueOperand) and operand.value is tensor:
                return node
    return nodes[0] if nodes else None


def _quantizes(op: str) -> bool:
    return op.rpartition("::")[2] in _QUANTIZERS
