"""Element types that a pattern implies: what the schemas let each of its values be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from qrewrite.engine.dtypes import FLOATS, NUMBERS, integer_range
from qrewrite.engine.schemas.schema import Parameter

from ..packs.pack import Pack
from ..syntax import (
    Alternatives,
    Apply,
    Arity,
    Assign,
    Capture,
    Constant,
    Fragment,
    Group,
    OpName,
    Presence,
    Quantifier,
    Rest,
    Statement,
    Target,
    Term,
    Use,
)
from .assume import assume
from .facts import Facts, Types, type_words
from .signatures import Opsets, Signature, Signatures


@dataclass
class Inference:
    """Adds to facts what the nodes of patterns say of the types of their values."""

    pack: Pack
    signatures: Signatures
    _fragments: dict[str, Mapping[str, Types]] = field(default_factory=dict)

    def statements(self, statements: Iterable[Statement], opsets: Opsets, facts: Facts) -> None:
        for statement in statements:
            if isinstance(statement, Assign):
                self._assign(statement.targets, statement.term, opsets, facts)
            elif isinstance(statement, Use) and statement.quantifier is not Quantifier.NO:
                span = statement.span
                targets = (
                    () if statement.result is None else (Target(statement.result, Arity.ONE, span),)
                )
                self._assign(targets, statement.term, opsets, facts)

    def fragment_types(self, fragment: Fragment) -> Mapping[str, Types]:
        """The types that any alternative of a fragment lets its parameters and its result have."""
        known = self._fragments.get(fragment.name)
        if known is None:
            self._fragments[fragment.name] = {}  # a fragment inside itself is reported elsewhere
            known = self._alternatives(fragment)
            self._fragments[fragment.name] = known
        return known

    def _alternatives(self, fragment: Fragment) -> Mapping[str, Types]:
        found = []
        for alternative in fragment.alternatives:
            facts = Facts(self.pack)
            result = self._term(alternative.term, self.signatures.opsets, facts)
            for condition in alternative.conditions:
                assume(facts, condition, {})
            facts.settle()
            if not facts.wrong:
                if result in facts.types:
                    facts.types[RESULT] = facts.types[result]
                found.append(facts.types)
        if not found:
            return {}
        shared = set(found[0]).intersection(*found)
        return {key: frozenset().union(*(types[key] for types in found)) for key in shared}

    def _assign(self, targets: Sequence[Target], term: Term, opsets: Opsets, facts: Facts) -> None:
        if isinstance(term, Apply) and term.presence is Presence.ONCE:
            found = self.signatures.of_node(term, opsets)
            if found and not _is_fragment(term.op, self.pack):
                slots = self._inputs(term, found, opsets, facts)
                for position, target in enumerate(targets):
                    slots.append((target.name, _joined(found, position, outputs=True)))
                tie(slots, found, facts)
                return
        key = self._term(term, opsets, facts)
        for target in targets[:1]:
            facts.same.append((target.name, key))
            fragment = self._fragment(term)
            if fragment is not None and fragment.result is not None:
                self._parts(fragment, fragment.result, target.name, facts)

    # -- terms

    def _term(self, term: Term, opsets: Opsets, facts: Facts) -> str:
        """Add what a term says of types; the key of its value."""
        key = key_of(term)
        if not isinstance(term, Apply):
            return key
        fragment = self._fragment(term)
        if fragment is not None:
            self._call(term, fragment, key, opsets, facts)
            return key
        found = self.signatures.of_node(term, opsets)
        if term.presence is not Presence.ONCE:
            # the value is what went in or what came out: nothing is known of it
            if term.operands:
                self._term(term.operands[0], opsets, facts)
            return key
        slots = self._inputs(term, found, opsets, facts)
        slots.append((key, _joined(found, 0, outputs=True)))
        tie(slots, found, facts)
        return key

    def _inputs(
        self, node: Apply, found: Sequence[Signature], opsets: Opsets, facts: Facts
    ) -> list[tuple[str, Parameter | None]]:
        slots = []
        for position, operand in enumerate(node.operands):
            if isinstance(operand, (Rest, Group)):
                for part in operand.operands if isinstance(operand, Group) else ():
                    self._term(part, opsets, facts)
                break
            if isinstance(operand, Alternatives):
                continue
            key = self._term(operand, opsets, facts)
            slots.append((key, _joined(found, position, outputs=False)))
        return slots

    def _call(
        self, node: Apply, fragment: Fragment, key: str, opsets: Opsets, facts: Facts
    ) -> None:
        types = self.fragment_types(fragment)
        for parameter, operand in zip(fragment.parameters, node.operands, strict=False):
            inner = self._term(operand, opsets, facts)
            if node.presence is Presence.ONCE:
                self._restrict(inner, types.get(parameter), facts)
                if isinstance(operand, Capture):
                    self._parts(fragment, parameter, inner, facts)
        if node.presence is Presence.ONCE:
            self._restrict(key, types.get(RESULT), facts)

    def _parts(self, fragment: Fragment, parameter: str, key: str, facts: Facts) -> None:
        for name, types in self.fragment_types(fragment).items():
            base, dot, part = name.partition(".")
            if dot and base == parameter:
                self._restrict(f"{key}.{part}", types, facts)

    def _restrict(self, key: str, types: Types | None, facts: Facts) -> None:
        if types and not facts.wrong:
            facts.restrict_type(key, types)

    def _fragment(self, term: Term) -> Fragment | None:
        if isinstance(term, Apply) and not term.op.domain and term.op.slot is None:
            return self.pack.fragments.get(term.op.name)
        return None


RESULT = "@result"


def key_of(term: Term) -> str:
    """The name under which facts keep the type of a term's value."""
    match term:
        case Capture(name, None):
            return name
        case Capture(name, part):
            return f"{name}.{part}"
        case _:
            span = term.span
            return f"@{span.line}:{span.column}:{span.end_line}:{span.end_column}"


def tie(
    slots: Iterable[tuple[str, Parameter | None]], found: Sequence[Signature], facts: Facts
) -> None:
    """Restrict values to the types of their slots; slots of one type variable have one type."""
    first: dict[str, str] = {}
    for key, parameter in slots:
        if parameter is None or facts.wrong:
            continue
        if parameter.types:
            facts.restrict_type(key, parameter.types)
        if parameter.variable and len(found) == 1:
            other = first.setdefault(parameter.variable, key)
            if other != key:
                facts.same.append((other, key))


def _joined(found: Sequence[Signature], position: int, *, outputs: bool) -> Parameter | None:
    """The input or output of several ops together."""
    slots = [each.output(position) if outputs else each.input(position) for each in found]
    if not slots or any(slot is None or not slot.types for slot in slots):
        return slots[0] if len(slots) == 1 else None
    present = [slot for slot in slots if slot is not None]
    types: Types = frozenset().union(*(slot.types for slot in present))
    return Parameter(present[0].name, present[0].variable, types)


def _is_fragment(op: OpName, pack: Pack) -> bool:
    return not op.domain and op.name in pack.fragments


def wrong_constants(node: Apply, signature: Signature) -> list[tuple[Constant, str]]:
    """Numbers that no tensor of the input's types can be."""
    found = []
    for position, operand in enumerate(node.operands):
        slot = signature.input(position)
        if isinstance(operand, Constant) and slot is not None and slot.types:
            values = operand.value if isinstance(operand.value, tuple) else (operand.value,)
            if not any(_holds(kind, values) for kind in slot.types):
                found.append(
                    (operand, f'input "{slot.name}" of {signature.op} is {type_words(slot.types)}')
                )
    return found


def _holds(kind: int, values: Sequence[int | float]) -> bool:
    if kind in FLOATS:
        return True
    bounds = integer_range(kind)
    if bounds is None:
        return kind == NUMBERS["bool"] and all(value in (0, 1) for value in values)
    return all(float(value).is_integer() and bounds[0] <= value <= bounds[1] for value in values)
