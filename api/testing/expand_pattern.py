"""From a rule's pattern to one structure of nodes, by drawing each choice it leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from qrewrite.patterns.packs.pack import Pack, op_key
from qrewrite.patterns.syntax import (
    Absent,
    Alternatives,
    Apply,
    Arity,
    Assign,
    Attribute,
    Capture,
    Connected,
    Constant,
    DropAttribute,
    Field,
    Fragment,
    Group,
    Name,
    OpName,
    Presence,
    Quantifier,
    Rest,
    RestAttributes,
    Rule,
    Term,
    Use,
    Wildcard,
)

from .draws import Draw, pick
from .expressions import substitute
from .structure import Choice, PatternNode, Slot, Structure, names_in, place

MOST = 3
"""Elements of a list, and nodes of a chain."""


class Unsatisfiable(Exception):
    """The choices made so far cannot be completed to a graph."""


@dataclass
class Frame:
    """The names in scope: those of the rule (``None``), or of a fragment with its parameters."""

    parameters: dict[str, Term] = field(default_factory=dict)
    bound: dict[str, Slot | None] = field(default_factory=dict)
    parent: Frame | None = None
    element: int | None = None
    """Which element of a list is being read."""
    repeated: dict[str, Slot] = field(default_factory=dict)
    """Names of lists -> the element of this turn."""


def expand_rule(pack: Pack, rule: Rule, draw: Draw) -> Structure:
    """One graph that the pattern of `rule` describes, without regard to its conditions."""
    expansion = _Expansion(pack, draw, Structure())
    for statement in rule.pattern:
        if isinstance(statement, Assign):
            expansion.assign(statement)
        elif isinstance(statement, Use):
            expansion.use(statement)
        else:
            expansion.connected(statement)
    structure = expansion.structure
    targets = [target.name for made in rule.template for target in made.targets]
    kept = [slot for name in dict.fromkeys(targets) for slot in structure.captures.get(name, ())]
    made = {slot for node in structure.nodes for slot in node.outputs}
    structure.roots = [slot for slot in kept if slot in made]
    return structure


def grow(
    pack: Pack, structure: Structure, draw: Draw, term: Apply, frame: Frame, slot: Slot
) -> None:
    """Add the nodes of a term that makes `slot`; they are no part of the pattern's coverage."""
    expansion = _Expansion(pack, draw, structure)
    choices = list(structure.choices)
    expansion.term(term, frame, [slot])
    structure.choices[:] = choices


class _Expansion:
    def __init__(self, pack: Pack, draw: Draw, structure: Structure) -> None:
        self.pack = pack
        self.draw = draw
        self.structure = structure

    # ---- statements

    def assign(self, statement: Assign) -> None:
        frame = Frame()
        term = statement.term
        if isinstance(term, Apply) and term.arity is Arity.REPEATED:
            self._assign_each(statement, term)
            return
        outputs: list[Slot] = []
        for target in statement.targets:
            if target.arity is Arity.REPEATED:
                count = self._count(place(target.span, f"outputs {target.name}"))
                outputs += self._bind_list(target.name, count)
            elif target.arity is Arity.OPTIONAL and self._absent(place(target.span, target.name)):
                self.structure.absent.add(target.name)
            else:
                outputs.append(self._bind(target.name))
        self.term(term, frame, outputs)

    def _assign_each(self, statement: Assign, term: Apply) -> None:
        name = statement.targets[0].name
        lists = [each for each in names_in(term) if each in self.structure.lists]
        count = (
            len(self.structure.captures[lists[0]]) if lists else self._count(place(term.span, name))
        )
        for index, slot in enumerate(self._bind_list(name, count)):
            self._apply(term, Frame(element=index), [slot])

    def use(self, statement: Use) -> None:
        slot = self.structure.captures[statement.value][0]
        if statement.quantifier is Quantifier.NO:
            term = statement.term
            self.structure.unused[slot] = op_key(term.op) if isinstance(term, Apply) else ""
            return
        count = 1
        if statement.quantifier is Quantifier.EACH:
            count = self._count(place(statement.span, "uses"))
        for index in range(count):
            frame = Frame(element=index if statement.quantifier is Quantifier.EACH else None)
            outputs: list[Slot] = []
            if statement.result is not None:
                outputs = [self._name(statement.result, frame)]
            self.term(statement.term, frame, outputs or [self.structure.fresh()])

    def connected(self, statement: Connected) -> None:
        """The tensor alone, or joined to another one by one of the ops."""
        structure = self.structure
        found = list(structure.captures[statement.start])
        ops = [op_key(op) for op in statement.ops if op.name not in ("Concat", "Split")]
        taken = self._choose(place(statement.span, "joined by"), ("nothing", *ops))
        if taken != "nothing":
            node = PatternNode(taken, [found[0]], [structure.fresh()], free=True)
            node.rest = structure.fresh()
            structure.nodes.append(node)
            found += node.outputs
        structure.lists.add(statement.name)
        structure.captures[statement.name] = found
        structure.hidden.update(found)

    # ---- choices

    def _choose(self, where: str, options: Sequence[str]) -> str:
        taken = pick(self.draw, options)
        self.structure.choices.append(Choice(where, taken))
        return taken

    def _absent(self, where: str) -> bool:
        return self._choose(where, ("absent", "present")) == "absent"

    def _count(self, where: str, least: int = 1) -> int:
        return int(self._choose(where, [str(n) for n in range(least, MOST + 1)]))

    # ---- names

    def _bind(self, name: str) -> Slot:
        self.structure.captures.setdefault(name, [name])
        return name

    def _bind_list(self, name: str, count: int) -> list[Slot]:
        slots = [f"{name}#{index}" for index in range(count)]
        self.structure.lists.add(name)
        self.structure.captures[name] = slots
        return slots

    def _name(self, name: str, frame: Frame) -> Slot:
        """The slot of a name at the level of the rule."""
        known = self.structure.captures
        if name in self.structure.lists and frame.element is not None:
            slots = known[name]
            while len(slots) <= frame.element:
                slots.append(f"{name}#{len(slots)}")
            return slots[frame.element]
        if name in known:
            return known[name][0]
        if frame.element is None:
            return self._bind(name)
        self.structure.lists.add(name)
        known[name] = []
        return self._name(name, frame)

    # ---- terms

    def term(self, term: Term, frame: Frame, outputs: list[Slot] | None = None) -> Slot | None:
        """The value of a term; None where it is absent."""
        match term:
            case Apply():
                return self._apply(term, frame, outputs)
            case Capture():
                return self._capture(term, frame)
            case Alternatives():
                options = [str(i + 1) for i in range(len(term.choices))]
                taken = int(self._choose(place(term.span, "alternative"), options))
                return self.term(term.choices[taken - 1], frame, outputs)
            case Wildcard():
                return self.structure.fresh()
            case Absent():
                return None
            case Constant():
                slot = self.structure.fresh()
                self.structure.literals[slot] = term.value
                return slot
            case _:
                raise Unsatisfiable(f"no graph is made for {type(term).__name__}")

    def _capture(self, term: Capture, frame: Frame) -> Slot | None:
        slot = self._resolve(term.name, frame)
        if term.part is None or slot is None:
            return slot
        return f"{slot}.{term.part}"

    def _resolve(self, name: str, frame: Frame) -> Slot | None:
        if name in frame.bound:
            return frame.bound[name]
        if name in frame.parameters:
            assert frame.parent is not None
            frame.bound[name] = self.term(frame.parameters[name], frame.parent)
            return frame.bound[name]
        if frame.parent is not None:  # a name inside a fragment: its own
            frame.bound[name] = self.structure.fresh()
            return frame.bound[name]
        return self._name(name, frame)

    def operands(self, terms: Sequence[Term], frame: Frame) -> list[Slot | None]:
        found: list[Slot | None] = []
        for term in terms:
            if isinstance(term, Rest):
                continue
            arity = getattr(term, "arity", Arity.ONE)
            if isinstance(term, Group) or arity is Arity.REPEATED:
                found += self._repeat(term, frame)
            elif arity is Arity.OPTIONAL and self._leave_out(term, frame):
                found.append(None)
            else:
                found.append(self.term(term, frame))
        return found

    def _repeat(self, term: Term, frame: Frame) -> list[Slot | None]:
        if isinstance(term, Wildcard):
            return [self.structure.fresh() for _ in range(self._count(place(term.span, "list")))]
        parts: Sequence[Term] = term.operands if isinstance(term, Group) else (term,)
        found: list[Slot | None] = []
        for index in range(self._count(place(term.span, "list"))):
            inner = Frame(frame.parameters, frame.bound, frame.parent, index)
            found += [self.term(part, inner) for part in parts]
        return found

    def _leave_out(self, term: Term, frame: Frame) -> bool:
        if isinstance(term, Capture) and term.part is None and self._is_bound(term, frame):
            return False
        where = place(term.span, f"operand {_shown(term, frame)}")
        if not self._absent(where):
            return False
        for name in names_in(term):
            part = f".{term.part}" if isinstance(term, Capture) and term.part else ""
            slot = self._resolve(name, frame) if part else name
            self.structure.absent.add(f"{slot}{part}")
        return True

    def _is_bound(self, term: Capture, frame: Frame) -> bool:
        return frame.parent is None and term.name in self.structure.captures

    # ---- nodes

    def _apply(self, term: Apply, frame: Frame, outputs: list[Slot] | None = None) -> Slot | None:
        where = place(term.span, term.op.name)
        if term.presence is Presence.OPTIONAL and self._absent(where):
            return self._around(term, frame, 0, outputs)
        if term.presence in (Presence.ANY, Presence.SOME):
            least = 1 if term.presence is Presence.SOME else 0
            return self._around(term, frame, self._count(where, least), outputs)
        return self._once(term, frame, outputs)

    def _around(
        self, term: Apply, frame: Frame, count: int, outputs: list[Slot] | None
    ) -> Slot | None:
        """A chain of `count` nodes, each around its first operand; 0: that operand itself."""
        if term.label is not None:
            self.structure.labels.setdefault(term.label, [])
        if count == 0:
            inner = term.operands[0]
            slot = self.term(inner, frame, outputs)
            if outputs and slot != outputs[0]:
                raise Unsatisfiable("an output without a node")
            return slot
        slot = self.term(term.operands[0], frame)
        for index in range(count):
            last = outputs if index == count - 1 else None
            slot = self._once(term, frame, last, first=slot)
        return slot

    def _once(
        self, term: Apply, frame: Frame, outputs: list[Slot] | None, first: Slot | None = None
    ) -> Slot | None:
        fragment = self.pack.fragments.get(term.op.name) if not term.op.domain else None
        if fragment is not None:
            return self._fragment(fragment, term, frame, outputs, first)
        return self._node(term, frame, outputs, first)

    def _fragment(
        self, fragment: Fragment, term: Apply, frame: Frame, outputs: list[Slot] | None,
        first: Slot | None,
    ) -> Slot | None:  # fmt: skip
        inner = Frame(dict(zip(fragment.parameters, term.operands, strict=False)), {}, frame)
        inner.element = frame.element
        if first is not None:
            inner.bound[fragment.parameters[0]] = first
        elif fragment.parameters:
            self._resolve(fragment.parameters[0], inner)
        result = outputs[0] if outputs else self.structure.fresh()
        if fragment.result is not None:
            inner.bound[fragment.result] = result
        options = [str(i + 1) for i in range(len(fragment.alternatives))]
        where = f"alternative of {fragment.name} at {place(term.span, term.op.name)}"
        alternative = fragment.alternatives[int(self._choose(where, options)) - 1]
        slot = self.term(alternative.term, inner, outputs or [result])
        for name in fragment.parameters:
            self._resolve(name, inner)
        slots = {name: Name(each, term.span) for name, each in inner.bound.items() if each}
        self.structure.conditions += [substitute(c, slots) for c in alternative.conditions]
        return slot

    def _node(
        self, term: Apply, frame: Frame, outputs: list[Slot] | None, first: Slot | None
    ) -> Slot | None:
        op, commutative = self._op(term.op, frame)
        operands = term.operands if first is None else term.operands[1:]
        inputs = self.operands(operands, frame)
        if first is not None:
            inputs.insert(0, first)
        if (commutative or term.commuted) and len(inputs) == 2:
            where = place(term.span, f"operands of {term.op.name}")
            if self._choose(where, ("as written", "swapped")) == "swapped":
                inputs.reverse()
        node = PatternNode(op, inputs, outputs or [self.structure.fresh()], borrowed=term.borrowed)
        node.rest = next((each.capture for each in operands if isinstance(each, Rest)), None)
        if first is not None and node.rest is None:
            node.rest = self.structure.fresh()  # a chain leaves the further operands of its nodes
        self._attributes(node, term, frame)
        if term.label is not None:
            node.label = term.label
            self.structure.labels.setdefault(term.label, []).append(node)
        self.structure.nodes.append(node)
        return node.outputs[0]

    def _op(self, op: OpName, frame: Frame) -> tuple[str, bool]:
        if op.slot is not None:
            base = self.structure.labels.get(op.slot, [None])[0]
            if base is None:
                raise Unsatisfiable("the op that a name is made of is not there yet")
            name = f"{op.name}{base.op.rpartition('::')[2]}{op.suffix}"
            return (f"{op.domain}::{name}" if op.domain else name), False
        ops = self.pack.op_sets.get(op.name) if not op.domain else None
        if ops is None:
            return op_key(op), False
        names = [op_key(each) for each in ops.ops]
        return self._choose(place(op.span, op.name), names), ops.commutative

    def _attributes(self, node: PatternNode, term: Apply, frame: Frame) -> None:
        for item in term.attributes or ():
            if isinstance(item, RestAttributes):
                node.free = True
            elif isinstance(item, DropAttribute):
                node.loose.add(item.name)
            else:
                self._attribute(node, item, frame)

    def _attribute(self, node: PatternNode, item: Attribute, frame: Frame) -> None:
        value = item.value
        if isinstance(value, Field) and isinstance(value.base, Name):
            slot = self._resolve(value.base.id, frame)
            node.captured[item.name] = (f"{slot}.{value.name}", item.optional)
        elif isinstance(value, Name):
            node.captured[item.name] = (value.id, item.optional)
        else:
            node.fixed[item.name] = value


def _shown(term: Term, frame: Frame) -> str:
    if isinstance(term, Capture):
        name = frame.bound.get(term.name, term.name) if frame.parent else term.name
        return f"{name}.{term.part}" if term.part else str(name)
    return "/".join(names_in(term)) or "_"
