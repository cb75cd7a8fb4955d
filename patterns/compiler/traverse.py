"""From a flat pattern to the steps that find it in a graph, walking along edges from an anchor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..diagnostics import failure
from ..syntax import Span
from .attributes import attribute_test
from .flat import (
    AnyOperand,
    Each,
    EachOperand,
    Flat,
    FlatChain,
    FlatNode,
    FlatValue,
    NoOperand,
    NumberOperand,
    RestOperands,
    Role,
    ValueOperand,
    consumers_in,
)
from .helpers import Helpers
from .places import Places
from .schema_facts import has_one_output
from .steps import Steps


class Traversal:
    """Writes the steps of one flat pattern."""

    def __init__(self, flat: Flat, helpers: Helpers, steps: Steps, places: Places) -> None:
        self.flat = flat
        self.helpers = helpers
        self.steps = steps
        self.places = places
        self._nodes = set(flat.nodes)
        self._made = {value for node in flat.nodes for value in _outputs(node)}
        self._consumers = consumers_in(flat)
        self._waiting: list[EachOperand] = []

    # -- starting points

    def from_node(self, node: FlatNode, name: str, known_op: bool = False) -> None:
        if not known_op:
            self._is_op(node, name)
        self._visit(node, name, arrived=None)
        self._repetitions()

    def from_values(self, values: Sequence[tuple[FlatValue, str]]) -> None:
        for value, name in values:
            self.steps.test(f"{name} is not None")
            self._reach(value, name, None)
        for value, name in values:
            if value.owned:
                self.steps.test(f"len({name}.uses) == 1 and not {name}.is_output")
            self._onward(value)
        self._repetitions()

    def _repetitions(self) -> None:
        self._check_connected()
        for operand in self._waiting:
            self.operands_that_repeat(operand.each)
        for each in self.flat.eaches:
            self.statement_that_repeats(each)

    def operands_that_repeat(self, each: Each) -> None:
        """Steps for ``DQ(x)...``."""
        raise NotImplementedError

    def statement_that_repeats(self, each: Each) -> None:
        """Steps for ``y... = Q(part)...`` and ``each use of y is ...``."""
        raise NotImplementedError

    def chain_function(self, chain: FlatChain, way: str) -> str:
        """A call with a place for the value from which the chain is followed."""
        raise NotImplementedError

    def _check_connected(self) -> None:
        for node in self.flat.nodes:
            if self.places.find(node) is None:
                note = "every node must share a value with the rest of the pattern"
                raise failure("this node is not connected with the others", node.span, note)

    # -- nodes

    def _visit(self, node: FlatNode, name: str, arrived: FlatValue | None) -> None:
        """The tests of a node that has been found, by way of one of its outputs or not."""
        self.places.put(node, name)
        self._distinct(node, name)
        self._outputs(node, name, arrived)
        inputs = self._count(node, name)
        attribute_test(node, name, self.helpers, self.steps)
        for position in range(len(node.operands)):
            self._operand(node, position, f"{name}i{position}", inputs)
        for output in _outputs(node):
            self._downstream(output)
        for operand in node.operands:
            if isinstance(operand, ValueOperand):
                self._onward(operand.value)

    def _distinct(self, node: FlatNode, name: str) -> None:
        """One node of the graph cannot be replaced as two of the pattern."""
        if node.role is Role.BORROWED:
            return
        for other in self.flat.nodes:
            placed = self.places.find(other)
            if other is node or placed is None or other.role is Role.BORROWED:
                continue
            if set(node.ops) & set(other.ops):
                self.steps.test(f"{name} is not {placed}", node.span, "a node stands for one node")

    def _outputs(self, node: FlatNode, name: str, arrived: FlatValue | None) -> None:
        named = [p for p, value in enumerate(node.outputs) if value is not None]
        single = named == [0] and has_one_output(node.ops)
        every = node.each_output is not None
        if not (single and arrived is not None):
            outputs = self.steps.bind(f"{name}O", f"{name}.outputs")
            self._arrival(node, outputs, arrived, named, every or single)
        for position in named:
            value = node.outputs[position]
            if value is not None and value is not arrived:
                self._reach(value, f"{name}o{position}", f"{name}O[{position}]", node.span)
        if node.role is Role.OWNED:
            for position in named:
                self._owned(node.outputs[position], node)
        if node.each_output is not None:
            self._each_output(node, name, len(node.outputs))

    def _arrival(
        self,
        node: FlatNode,
        outputs: str,
        arrived: FlatValue | None,
        named: Sequence[int],
        all_named: bool,
    ) -> None:
        """All outputs are named or dead, and the value that led here is the one it should be."""
        last = max(named, default=-1)
        if last >= 0 and arrived is None:
            self.steps.test(f"len({outputs}) > {last}")
        if arrived is not None:
            place = self.places.at(arrived)
            index = node.outputs.index(arrived)
            self.steps.test(f"len({outputs}) > {last} and {outputs}[{index}] is {place}")
        if not all_named and node.role is not Role.BORROWED:
            count, keep = len(node.outputs), tuple(named)
            test = f"unused({outputs}, {keep})"
            if named == list(range(count)):
                test = f"(len({outputs}) == {count} or {test})"
            self.steps.test(test, node.span, "the other outputs are not used")

    def _owned(self, value: FlatValue | None, node: FlatNode) -> None:
        if value is None:
            return
        place = self.places.at(value)
        count = max(1, len(dict.fromkeys(self._consumers.get(value, ()))))
        words = f'"{value.name}" has no other consumer' if value.name else "no other consumer"
        test = f"len({place}.uses) == {count} and not {place}.is_output"
        self.steps.test(test, node.span, words)

    def _each_output(self, node: FlatNode, name: str, first: int) -> None:
        assert node.each_output is not None
        listed = node.each_output.slots[0]
        text = f"{name}O[{first}:]" if first else f"{name}O"
        place = self.steps.bind(f"{name}o{first}_", f"tuple({text})")
        self.steps.test(f"{place} and None not in {place}", node.span)
        self.places.put(listed, place)

    # -- operands

    def _count(self, node: FlatNode, name: str) -> str:
        """The number of operands."""
        inputs = self.steps.bind(f"{name}I", f"{name}.inputs")
        least, most, stride = _bounds(node)
        subject = f"len({inputs})"
        if most is None:
            if least:
                self.steps.test(f"len({inputs}) >= {least}", node.span)
            if stride > 1:
                fixed = len(node.operands) - 1
                self.steps.test(f"(len({inputs}) - {fixed}) % {stride} == 0", node.span)
        elif least == most:
            words = f"{least} operand" + "s" * (least != 1)
            self.steps.test(f"len({inputs}) == {least}", node.span, words, subject, (least,))
        else:
            counts = range(least, most + 1)
            words = f"{least} to {most} operands"
            test = f"{least} <= len({inputs}) <= {most}" if least else f"len({inputs}) <= {most}"
            self.steps.test(test, node.span, words, subject, counts)
        return inputs

    def _operand(self, node: FlatNode, position: int, name: str, inputs: str) -> None:
        operand = node.operands[position]
        text = _subscript(node, position, inputs)
        match operand:
            case ValueOperand(value, False):
                self._reach(value, name, text, node.span)
            case ValueOperand(value, True):
                here = f"{text} if len({inputs}) > {position} else None"
                known = self.places.find(value)
                self.steps.bind(name, here)
                if known is None:
                    self.places.put(value, name)
                else:
                    self.steps.test(f"same_zero_point({known}, {name})", node.span)
            case AnyOperand(False):
                self.steps.test(f"{text} is not None", node.span)
            case NoOperand() if position < _bounds(node)[0]:
                self.steps.test(f"{text} is None", node.span)
            case NumberOperand(number):
                self.steps.test(f"is_number({text}, {number!r})", node.span, f"operand {number}")
            case EachOperand():
                self._waiting.append(operand)
            case _:
                pass

    def _reach(
        self, value: FlatValue, name: str, text: str | None, span: Span | None = None
    ) -> None:
        """A value has been found; if it had been before, it must be the same one."""
        known = self.places.find(value)
        if known is None:
            if text is not None:
                self.steps.bind(name, text)
            self.places.put(value, name)
            if text is not None:
                self.steps.test(f"{name} is not None", span)
            return
        text = text or name
        words = f'"{value.name}" is one value in both places' if value.name else ""
        if value in self._made or value.producer is not None:
            self.steps.test(f"{text} is {known}", span, words)
        else:
            self.steps.bind(name, text)
            self.steps.test(f"same({known}, {name})", span, words)

    # -- edges

    def _onward(self, value: FlatValue) -> None:
        self._upstream(value)
        self._downstream(value)

    def _upstream(self, value: FlatValue) -> None:
        producer, place = value.producer, self.places.at(value)
        if producer is None or self.places.find(producer) is not None:
            return
        if isinstance(producer, FlatNode):
            if producer in self._nodes:
                name = self.steps.bind(f"{place}p", f"{place}.producer")
                self.steps.test(f"{name} is not None", producer.span)
                self._is_op(producer, name)
                self._visit(producer, name, value)
        elif producer in self.flat.chains:
            self._chain(producer, place, value, producer.source, "up")

    def _downstream(self, value: FlatValue) -> None:
        place = self.places.at(value)
        for chain in self.flat.chains:
            if chain.source is value and self.places.find(chain) is None:
                self._chain(chain, place, value, chain.result, "down")
        consumers = list(dict.fromkeys(self._consumers.get(value, ())))
        for position, consumer in enumerate(consumers):
            if consumer not in self._nodes or self.places.find(consumer) is not None:
                continue
            name = f"{place}c{position or ''}"
            if len(consumers) == 1 and self._is_owned(value):
                self.steps.test(f"len({place}.uses) == 1 and not {place}.is_output")
                self.steps.bind(name, f"next(iter({place}.uses))")
            else:
                self.steps.candidates(name, f"consumers({place})")
            self._is_op(consumer, name)
            self._visit(consumer, name, None)

    def _is_owned(self, value: FlatValue) -> bool:
        producer = value.producer
        if isinstance(producer, FlatNode):
            return value.owned or (producer in self._nodes and producer.role is Role.OWNED)
        return value.owned or (producer is not None and not producer.borrowed)

    def _is_op(self, node: FlatNode, name: str) -> None:
        ops = sorted(node.ops)
        test = f"{name}.op == {ops[0]!r}" if len(ops) == 1 else f"{name}.op in {{{str(ops)[1:-1]}}}"
        shown = ops[0] if len(ops) == 1 else " or ".join(ops)
        self.steps.test(test, node.span, f"is {shown}", f"{name}.op", ops)

    def _chain(
        self, chain: FlatChain, place: str, start: FlatValue, end: FlatValue, way: str
    ) -> None:
        call = self.chain_function(chain, way)
        found = self.steps.bind(f"{place}{way}{call.partition('(')[0]}", call.format(place))
        if chain.at_least_one:
            self.steps.test(f"{found}[0]", chain.span, "one node of the chain at least")
        self.places.put(chain, f"{found}[0]")
        self._reach(end, f"{found}v", f"{found}[1]", chain.span)
        self._onward(end)


def _outputs(node: FlatNode) -> list[FlatValue]:
    return [value for value in node.outputs if value is not None]


def _bounds(node: FlatNode) -> tuple[int, int | None, int]:
    """The least and greatest number of operands (None: any), and by how many they grow."""
    operands = node.operands
    for operand in operands:
        if isinstance(operand, EachOperand):
            stride = len(operand.each.variants[0].entries)
            return len(operands) - 1 + stride, None, stride
    required = [p for p, each in enumerate(operands, 1) if _is_required(each)]
    least = max(required, default=0)
    if operands and isinstance(operands[-1], RestOperands):
        return least, None, 1
    allowed = [p for p, each in enumerate(operands, 1) if not isinstance(each, NoOperand)]
    return least, max(allowed, default=0), 1


def _is_required(operand: object) -> bool:
    match operand:
        case ValueOperand(_, optional) | AnyOperand(optional):
            return not optional
        case NumberOperand():
            return True
        case _:
            return False


def _subscript(node: FlatNode, position: int, inputs: str) -> str:
    """Operands behind a repetition are counted from the end."""
    before: Iterable[object] = node.operands[:position]
    if any(isinstance(each, EachOperand) for each in before):
        return f"{inputs}[{position - len(node.operands)}]"
    return f"{inputs}[{position}]"
