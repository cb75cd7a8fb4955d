"""What a rewrite adds and takes away, counted on the two sides of a rule.

The measure is compared part by part, the first part that differs decides:
quantizers (a Q, or a DQ that a node reads) of what is no constant; float ops of ai.onnx; nodes;
float constants that float ops read; DQ of constants.
So fusing shrinks it, and so does quantizing a float constant, while a DQ of that constant is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qrewrite.engine.dtypes import FLOATS

from ..packs.pack import Pack, op_key
from ..syntax import (
    Alternatives,
    Apply,
    Arity,
    Call,
    Capture,
    Expr,
    Fragment,
    Group,
    Let,
    Logical,
    Name,
    Presence,
    Quantifier,
    Rule,
    Term,
    Use,
    Where,
)
from .roots import kept, produced, statements
from .signatures import Signatures
from .walk import nodes, parts_of_term, subterms

QUANTIZE = frozenset({"QuantizeLinear", "com.microsoft::QuantizeLinear"})
DEQUANTIZE = frozenset({"DequantizeLinear", "com.microsoft::DequantizeLinear"})
INTEGER = ("QLinear", "QGemm")
Measure = tuple[int, int, int, int, int]
NOTHING: Measure = (0, 0, 0, 0, 0)
PARTS = len(NOTHING)


@dataclass(frozen=True, slots=True)
class Setting:
    """How optional parts and lists are counted: present or not, and so many elements."""

    optional: bool
    length: int


SETTINGS = (Setting(False, 1), Setting(True, 1), Setting(True, 3), Setting(False, 3))


@dataclass(frozen=True)
class Counter:
    """Measures the rules of one pack; each is measured once."""

    pack: Pack
    signatures: Signatures
    _known: dict[str, tuple[Measure, ...]] = field(default_factory=dict)
    _fragments: dict[tuple[str, frozenset[str], Setting], list[int]] = field(default_factory=dict)

    def changes(self, rule: Rule) -> tuple[Measure, ...]:
        """What the template has, less what the pattern has that the rule removes; by SETTINGS."""
        known = self._known.get(rule.name)
        if known is None:
            known = self._known[rule.name] = self._changes(rule)
        return known

    def _changes(self, rule: Rule) -> tuple[Measure, ...]:
        stays, results = kept(rule), produced(rule)
        gone = [each.term for each in statements(rule) if each not in stays]
        uses = [each for each in rule.pattern if isinstance(each, Use) and each.result in results]
        made = [assign.term for assign in rule.template]
        constants, chains = constant_names(rule), _chains_put_back(rule)
        terms = (*gone, *made, *(each.term for each in uses))
        varies = bool(uses) or any(_varies(each) for term in terms for each in subterms(term))
        found = []
        for setting in SETTINGS if varies else SETTINGS[:1]:
            count = _Count(self, setting, constants, chains)
            for term in made:
                count.add(term, 1)
            for term in gone:
                count.add(term, -1)
            for use in uses:
                count.add(use.term, -setting.length if use.quantifier is Quantifier.EACH else -1)
            found.append(count.measure())
        return tuple(found) if varies else tuple(found * len(SETTINGS))

    def fragment(
        self, node: Apply, fragment: Fragment, setting: Setting, constants: frozenset[str]
    ) -> list[int]:
        """The nodes of a fragment's first alternative, without those of its operands."""
        given = zip(fragment.parameters, node.operands, strict=False)
        names = frozenset(name for name, operand in given if _is_constant(operand, constants))
        key = (fragment.name, names, setting)
        if key not in self._fragments:
            self._fragments[key] = [0] * PARTS  # a fragment inside itself counts once
            count = _Count(self, setting, names, frozenset())
            count.add(fragment.alternatives[0].term, 1)
            self._fragments[key] = count.total
        return self._fragments[key]


@dataclass
class _Count:
    """Adds up the measure of terms."""

    counter: Counter
    setting: Setting
    constants: frozenset[str]
    chains: frozenset[str]
    """Labels of chains that stand on both sides: they do not count."""
    total: list[int] = field(default_factory=lambda: [0] * PARTS)

    def measure(self) -> Measure:
        a, b, c, d, e = self.total
        return (a, b, c, d, e)

    def add(self, term: Term, times: int) -> None:
        times *= _times(term, self.setting)
        if not times:
            return
        if isinstance(term, Alternatives):
            self.add(term.choices[0], times)
            return
        for part in parts_of_term(term):
            self.add(part, times)
        if isinstance(term, Apply):
            self._node(term, times)

    def _node(self, node: Apply, times: int) -> None:
        if node.label in self.chains or (not node.op.domain and node.op.name in self.chains):
            return
        if node.presence in (Presence.OPTIONAL, Presence.ANY) and not self.setting.optional:
            return
        for part, found in enumerate(self._own(node)):
            self.total[part] += found * times

    def _own(self, node: Apply) -> Sequence[int]:
        """The measure of one node by itself."""
        counter = self.counter
        fragment = None
        if not node.op.domain and node.op.slot is None:
            fragment = counter.pack.fragments.get(node.op.name)
        if fragment is not None:
            return counter.fragment(node, fragment, self.setting, self.constants)
        op = op_key(node.op)
        if op in QUANTIZE:
            return (1, 0, 1, 0, 0)
        if op in DEQUANTIZE:
            if node.operands and _is_constant(node.operands[0], self.constants):
                return (0, 0, 0, 0, 1)
            return (1, 0, 0 if node.borrowed else 1, 0, 0)
        floats = _is_float(node, counter.signatures)
        read = sum(_is_constant(operand, self.constants) for operand in node.operands)
        return (0, int(floats), 1, read if floats else 0, 0)


def _is_float(node: Apply, signatures: Signatures) -> bool:
    """An op of ai.onnx that computes with floats, as far as its schema lets it."""
    if node.op.domain or node.op.name.startswith(INTEGER):
        return False
    for signature in signatures.of_node(node):
        slot = signature.input(0)
        return slot is None or not slot.types or bool(slot.types & FLOATS)
    return True  # an op set that a label names, or what is not known


def _varies(term: Term) -> bool:
    """Something there may be missing or repeats."""
    if getattr(term, "arity", Arity.ONE) is not Arity.ONE or isinstance(term, Group):
        return True
    return isinstance(term, Apply) and term.presence is not Presence.ONCE


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
    arity = Arity.REPEATED if isinstance(term, Group) else getattr(term, "arity", Arity.ONE)
    if arity is Arity.REPEATED:
        return setting.length
    return int(setting.optional) if arity is Arity.OPTIONAL else 1


def _is_constant(term: Term | None, constants: frozenset[str]) -> bool:
    return isinstance(term, Capture) and term.part is None and term.name in constants


def constant_names(rule: Rule) -> frozenset[str]:
    """Captures that a condition says are constants, and what let computes."""
    names: set[str] = set()
    for clause in rule.clauses:
        match clause:
            case Let(bindings):
                names.update(name for name, _ in bindings)
            case Where(conditions):
                for condition in conditions:
                    names.update(_said_constant(condition))
    return frozenset(names)


def _said_constant(condition: Expr) -> Iterator[str]:
    match condition:
        case Logical("and", operands):
            for operand in operands:
                yield from _said_constant(operand)
        case Call("is_const", (Name(name),)):
            yield name


def plus(left: Measure, right: Measure) -> Measure:
    a, b, c, d, e = (one + other for one, other in zip(left, right, strict=True))
    return (a, b, c, d, e)
