"""One node while its shapes, attributes and constant operands are settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qrewrite.patterns.syntax import Call, Compare, Expr, Field, ListOf, Member, Name

from .draws import chance
from .expand_pattern import Unsatisfiable
from .schemas import attribute_default, schema
from .solver import Solver
from .structure import PatternNode, Slot
from .truth import UNKNOWN, evaluate
from .world import NUMPY, Array, World, is_quantizer

Shape = tuple[int, ...]
FURTHER_SHAPES: list[Shape] = [
    (), (3,), (2,), (1,), (2, 3), (3, 2), (1, 2, 3), (1, 2, 3, 3), (1, 2, 1, 1),
    (1, 1, 2, 2, 2), (32, 4),
]  # fmt: skip
"""Tried where no shape that an op proposes meets the conditions."""


class Shapes:
    """Which values have one shape, and what it is."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._class: dict[Slot, list[Slot]] = {}

    def join(self, one: Slot, other: Slot) -> None:
        left, right = self.members(one), self.members(other)
        if left is right:
            return
        left.extend(right)
        for slot in right:
            self._class[slot] = left

    def members(self, slot: Slot) -> list[Slot]:
        return self._class.setdefault(slot, [slot])

    def get(self, slot: Slot) -> Shape | None:
        return self.world.shapes.get(slot)

    def set(self, slot: Slot, shape: Shape) -> None:
        for member in self.members(slot):
            self.world.shapes[member] = shape


class Site:
    """A node, its operands by index, and means to settle them."""

    def __init__(self, node: PatternNode, solver: Solver, shapes: Shapes) -> None:
        self.node = node
        self.solver = solver
        self.shapes = shapes
        self.world = solver.world
        self.draw = solver.draw
        self.opset = solver.world.opset

    # ---- operands

    def has(self, index: int) -> bool:
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def slot(self, index: int) -> Slot:
        slot = self.node.inputs[index] if index < len(self.node.inputs) else None
        if slot is None:
            raise Unsatisfiable(f"{self.node.op} needs its operand {index}")
        return slot

    def shape(self, index: int) -> Shape | None:
        return self.shapes.get(self.slot(index))

    def choose_shape(self, index: int, candidates: Sequence[Shape]) -> Shape:
        """The operand's shape: as known, else one of the candidates that the conditions allow."""
        slot = self.slot(index)
        known = self.shapes.get(slot)
        if known is not None:
            return known

        def assign(shape: Shape) -> None:
            self.shapes.set(slot, shape)

        touched = self.shapes.members(slot)
        lists = (candidates, FURTHER_SHAPES)
        return self.solver.choose(lists, assign, f"shape of {slot}", touched)

    def values(self, index: int, *arrays: Array, prefer_constant: int = 90) -> None:
        """The operand's content: an initializer, or an input that is always fed this."""
        slot = self.slot(index)
        if self.world.structure.producer(slot) is not None or slot in self.world.contents:
            return
        dtype = NUMPY[self.world.dtypes[slot]]

        def assign(array: Array) -> None:
            self.shapes.set(slot, array.shape)
            self.world.contents[slot] = array.astype(dtype)

        self.solver.choose([arrays], assign, f"content of {slot}", (slot,))
        if not chance(self.draw, 100 - prefer_constant):
            return
        self.world.pinned.add(slot)
        if not self.solver.consistent():
            self.world.pinned.discard(slot)

    def rest(self, count: int = 1) -> list[int]:
        """Indices of up to `count` operands more, where the pattern takes any (``*rest``)."""
        node = self.node
        if node.rest is None:
            return list(range(1, len(node.inputs)))[:count]
        slots = self.world.structure.captures.setdefault(node.rest, [])
        self.world.structure.lists.add(node.rest)
        first = len(node.inputs)
        for index in range(count):
            slot = f"{node.rest}#{index}"
            slots.append(slot)
            node.inputs.append(slot)
        return list(range(first, first + count))

    def typed(self, index: int, dtype: str) -> None:
        """The element type of an operand that `rest` has added."""
        self.world.dtypes.setdefault(self.slot(index), dtype)

    # ---- attributes

    def attribute(
        self, name: str, candidates: Sequence[Any] = (), *, required: bool = False
    ) -> Any:
        """Settle an attribute, None: leave it out; its value or default is returned."""
        default = attribute_default(self.node.op, name, self.opset)
        if name in self.node.fixed:
            value = evaluate(self.node.fixed[name], self.world)
            if self._known(name) and value is not UNKNOWN:
                self.world.decide(self.node, name, value)
            return value
        if not self._settable(name):
            if required:
                raise Unsatisfiable(f"{self.node.op} needs {name}")
            self.world.decide(self.node, name, None)
            return default

        def assign(value: tuple[Any]) -> None:
            self.world.decide(self.node, name, value[0])

        wanted = [(value,) for value in (candidates if required else (None, *candidates))]
        touched = (self.node.label or "", self.node.captured.get(name, ("", False))[0])
        literals = [(value,) for value in self._literals(name)]
        (taken,) = self.solver.choose((wanted, literals), assign, f"value of {name}", touched)
        return default if taken is None else taken

    def _known(self, name: str) -> bool:
        found = schema(self.node.op, self.opset)
        return found is not None and name in found.attributes

    def _settable(self, name: str) -> bool:
        node = self.node
        return self._known(name) and (node.free or name in node.captured or name in node.loose)

    def _literals(self, name: str) -> list[Any]:
        """Values that conditions compare the attribute with."""
        capture = self.node.captured.get(name, ("", False))[0]
        found: list[Any] = []
        for atom in self.solver.atoms:
            for operand, others in comparisons(atom.expression):
                if self._is_attribute(operand, name, capture):
                    found += [evaluate(other, self.world) for other in others]
        return [value for value in found if value is not UNKNOWN]

    def _is_attribute(self, operand: Expr, name: str, capture: str) -> bool:
        if isinstance(operand, Name):
            return operand.id == capture
        return (
            isinstance(operand, Field)
            and operand.name == name
            and isinstance(operand.base, Name)
            and operand.base.id == self.node.label
        )


def comparisons(expression: Expr) -> list[tuple[Expr, list[Expr]]]:
    """Operands and what they are compared with."""
    match expression:
        case Compare():
            right = expression.rest[0][1]
            return [(expression.first, [right]), (right, [expression.first])]
        case Member() if not isinstance(expression.choices, str):
            pairs = [(expression.operand, list(expression.choices))]
            if isinstance(expression.operand, ListOf):
                for index, operand in enumerate(expression.operand.elements):
                    rows = [c for c in expression.choices if isinstance(c, ListOf)]
                    pairs.append((operand, [row.elements[index] for row in rows]))
            return pairs
        case Call(function="close") | Call(function="same_grid"):
            one, *others = expression.arguments
            return [(one, others), *((other, [one]) for other in others)]
        case _:
            return []


def join_transparent(node: PatternNode, shapes: Shapes) -> None:
    """Q, DQ and ops on single elements keep the shape."""
    if (is_quantizer(node.op) or node.op in SAME_SHAPE) and node.inputs and node.inputs[0]:
        shapes.join(node.inputs[0], node.outputs[0])


SAME_SHAPE = frozenset(
    [
        "Relu",
        "LeakyRelu",
        "Sigmoid",
        "Tanh",
        "Clip",
        "HardSigmoid",
        "HardSwish",
        "Elu",
        "Selu",
        "Celu",
        "Softplus",
        "Softsign",
        "Gelu",
        "Erf",
        "Exp",
        "Log",
        "Sqrt",
        "Abs",
        "Neg",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Reciprocal",
        "Identity",
        "Cast",
        "Softmax",
        "LogSoftmax",
        "Not",
        "ThresholdedRelu",
        "BatchNormalization",
        "InstanceNormalization",
        "LRN",
        "Dropout",
        "PRelu",
        "CumSum",
        "Mish",
        "ReverseSequence",
    ]
)
