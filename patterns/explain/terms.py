"""Which term of a rule a node of its flat pattern stands for: fragments are expanded there."""

from __future__ import annotations

from collections.abc import Iterator

from ..compiler.anchor import is_quantizer
from ..compiler.flat import FlatNode, FlatValue, ValueOperand
from ..syntax import Alternatives, Apply, Assign, Capture, Group, Rule, Span, Term, Use
from .words import text_of

_DEQUANTIZERS = frozenset({"DQ", "DequantizeLinear"})
_QUANTIZERS = frozenset({"Q", "QuantizeLinear"})


def written_as(node: FlatNode, rule: Rule) -> tuple[str, Span]:
    """The rule's words for a node, ``DQ(w)`` or ``y = Q``, and their place in its file."""
    for term in _nodes_of(rule):
        if term.span == node.span:
            return _short(term), term.span
    for term in _nodes_of(rule):
        if _reads(term, _data_name(node)):
            return _short(term), term.span
    for statement in rule.pattern:
        if isinstance(statement, Assign) and isinstance(statement.term, Apply):
            for target in statement.targets:
                if target.name in _made_names(node):
                    name = statement.term.op.name
                    return f"{target.name} = {name}(...)", target.span
    return " or ".join(node.ops), rule.name_span


def value_name(value: FlatValue) -> str:
    """The rule's name for a value, else whose output it is."""
    if value.name:
        return value.name
    producer = value.producer
    return f"output of {producer.ops[0]}" if isinstance(producer, FlatNode) else "a value"


def _short(term: Apply) -> str:
    """A term without its attributes, operands that are terms themselves as ``...``."""
    operands = []
    for operand in term.operands:
        nested = isinstance(operand, Apply | Alternatives | Group)
        operands.append("..." if nested else text_of(operand.span))
    label = f"{term.label}: " if term.label else ""
    return f"{label}{term.op.name}({', '.join(operands)})"


def _data_name(node: FlatNode) -> str:
    """What a quantizer reads, if the rule has a name for it."""
    if not all(map(is_quantizer, node.ops)) or not node.operands:
        return ""
    first = node.operands[0]
    return first.value.name if isinstance(first, ValueOperand) else ""


def _made_names(node: FlatNode) -> set[str]:
    return {value.name for value in node.outputs if value is not None and value.name}


def _reads(term: Apply, name: str) -> bool:
    return bool(name) and any(
        isinstance(operand, Capture) and operand.name == name for operand in term.operands
    )


def leaves_float(rule: Rule) -> bool:
    """Whether the template applies an op to what a dequantizer of it makes."""
    made = [term for statement in rule.template for term in _inside(statement.term)]
    return any(
        isinstance(operand, Apply) and operand.op.name in _DEQUANTIZERS
        for term in made
        if term.op.name not in _QUANTIZERS
        for operand in term.operands
    )


def _nodes_of(rule: Rule) -> Iterator[Apply]:
    """All nodes of a rule's pattern, as they are written."""
    for statement in rule.pattern:
        if isinstance(statement, Assign | Use):
            yield from _inside(statement.term)


def _inside(term: Term) -> Iterator[Apply]:
    if isinstance(term, Apply):
        yield term
    operands: tuple[Term, ...] = ()
    if isinstance(term, Apply | Group):
        operands = term.operands
    elif isinstance(term, Alternatives):
        operands = term.choices
    for operand in operands:
        yield from _inside(operand)
