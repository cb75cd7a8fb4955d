"""What a rewrite adds and takes away, counted on the two sides of a rule.

The measure is compared part by part, the first part that differs decides:
quantizers (a Q, or a DQ that a node reads) of what is no constant; float ops of ai.onnx; nodes;
float constants that float ops read; DQ of constants.
So fusing shrinks it, and so does quantizing a float constant, while a DQ of that constant is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from qrewrite.engine.dtypes import FLOATS

from ..pack import Pack, op_key
from ..syntax import (
    Alternatives,
    Apply,
    Arity,
    Call,
    Capture,
    Expr,
    Let,
    Logical,
    Name,
    Presence,
    Rule,
    Term,
    Use,
    Where,
)
from .roots import kept, produced, statements
from .signatures import Signatures
from .walk import nodes, parts_of_term

QUANTIZE = frozenset({"QuantizeLinear", "com.microsoft::QuantizeLinear"})
DEQUANTIZE = frozenset({"DequantizeLinear", "com.microsoft::DequantizeLinear"})
INTEGER = ("QLinear", "QGemm")
Measure = tuple[int, int, int, int, int]
NOTHING: Measure = (0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Setting:
    """How what may be there or repeat is counted: optional parts present or not, lists this long."""

    optional: bool
    length: int


SETTINGS = (Setting(False, 1), Setting(True, 1), Setting(True, 3), Setting(False, 3))


@dataclass(frozen=True)
class Counter:
    pack: Pack
    signatures: Signatures

    def change(self, rule: Rule, setting: Setting) -> Measure:
        """What the template has, less what the pattern has that the rule removes."""
        constants = constant_names(rule, self.pack)
        chains = _chains_put_back(rule)
        made = self._sum(
            self._term(assign.term, setting, constants, chains) for assign in rule.template
        )
        stays = kept(rule)
        results = produced(rule)
        gone = [each.term for each in statements(rule) if each not in stays]
        gone += [
            each.term for each in rule.pattern if isinstance(each, Use) and each.result in results
        ]
        had = self._sum(self._term(term, setting, constants, chains) for term in gone)
        return _minus(made, had)

    def _sum(self, found: Iterator[Measure]) -> Measure:
        total = NOTHING
        for each in found:
            total = plus(total, each)
        return total

    def _term(
        self,
        term: Term,
        setting: Setting,
        constants: frozenset[str],
        skipped: frozenset[str],
    ) -> Measure:
        """``skipped``: fragments that are being counted, and chains that stand on both sides."""
        times = _times(term, setting)
        if not times:
            return NOTHING
        if isinstance(term, Alternatives):
            found = min(
                self._term(each, setting, constants, skipped) for each in term.choices
            )
            return _multiplied(found, times)
        inner = self._sum(
            self._term(each, setting, constants, skipped) for each in parts_of_term(term)
        )
        if isinstance(term, Apply):
            own = self._node(term, setting, constants, skipped)
            if term.label in skipped or (not term.op.domain and term.op.name in skipped):
                own = NOTHING
            elif term.presence in (Presence.OPTIONAL, Presence.ANY) and not setting.optional:
                own = NOTHING
            inner = plus(inner, own)
        return _multiplied(inner, times)

    def _node(
        self, node: Apply, setting: Setting, constants: frozenset[str], skipped: frozenset[str]
    ) -> Measure:
        """One node by itself; a fragment counts as its first alternative without the operands."""
        fragment = None if node.op.domain or node.op.slot else self.pack.fragments.get(node.op.name)
        if fragment is not None and fragment.name not in skipped:
            first = fragment.alternatives[0].term
            given = dict(zip(fragment.parameters, node.operands, strict=False))
            known = frozenset(
                name for name, operand in given.items() if _is_constant(operand, constants)
            )
            return self._term(first, setting, known, skipped | {fragment.name})
        op = op_key(node.op)
        first_operand = node.operands[0] if node.operands else None
        if op in QUANTIZE:
            return (1, 0, 1, 0, 0)
        if op in DEQUANTIZE:
            if _is_constant(first_operand, constants):
                return (0, 0, 0, 0, 1)
            return (1, 0, 0 if node.borrowed else 1, 0, 0)
        floats = self._is_float(node)
        read = sum(_is_constant(operand, constants) for operand in node.operands)
        return (0, int(floats), 1, read if floats else 0, 0)

    def _is_float(self, node: Apply) -> bool:
        """An op of ai.onnx that computes with floats, as far as its schema lets it."""
        if node.op.domain or node.op.name.startswith(INTEGER):
            return False
        for signature in self.signatures.of_node(node):
            slot = signature.input(0)
            return slot is None or not slot.types or bool(slot.types & FLOATS)
        return True  # an op set that a label names, or what is not known


def _chains_put_back(rule: Rule) -> frozenset[str]:
    """Labels of chains that the template applies: as many nodes on both sides."""
    labels = {
        node.label
        for each in statements(rule)
        for node in nodes(each.term)
        if node.label is not None and node.presence in (Presence.ANY, Presence.SOME)
    }
    used = {node.op.name for assign in rule.template for node in nodes(assign.term)}
    return frozenset(labels & used)


def _times(term: Term, setting: Setting) -> int:
    arity = getattr(term, "arity", Arity.ONE)
    if arity is Arity.REPEATED:
        return setting.length
    return int(setting.optional) if arity is Arity.OPTIONAL else 1


def _is_constant(term: Term | None, constants: frozenset[str]) -> bool:
    return isinstance(term, Capture) and term.part is None and term.name in constants


def constant_names(rule: Rule, pack: Pack) -> frozenset[str]:
    """Captures that a condition says are constants, and what let computes."""
    names: set[str] = set()
    for clause in rule.clauses:
        match clause:
            case Let(bindings):
                names.update(name for name, _ in bindings)
            case Where(conditions):
                for condition in conditions:
                    names.update(_said_constant(condition, pack))
    return frozenset(names)


def _said_constant(condition: Expr, pack: Pack) -> Iterator[str]:
    match condition:
        case Logical("and", operands):
            for operand in operands:
                yield from _said_constant(operand, pack)
        case Call("is_const", (Name(name),)):
            yield name


def plus(left: Measure, right: Measure) -> Measure:
    a, b, c, d, e = (one + other for one, other in zip(left, right, strict=True))
    return (a, b, c, d, e)


def _minus(left: Measure, right: Measure) -> Measure:
    a, b, c, d, e = (one - other for one, other in zip(left, right, strict=True))
    return (a, b, c, d, e)


def _multiplied(measure: Measure, times: int) -> Measure:
    a, b, c, d, e = (each * times for each in measure)
    return (a, b, c, d, e)


