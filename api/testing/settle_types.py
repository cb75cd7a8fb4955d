"""Opset, options and element types: what the schemas of the ops and the conditions allow."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import Expr

from .draws import Draw, chance
from .expand_pattern import Unsatisfiable
from .expressions import names_of
from .schemas import allowed_types, schema
from .solver import Solver
from .structure import PatternNode, Slot
from .truth import holds
from .world import World, is_quantizer

OPSETS = (19, 21, 13, 17, 11, 10, 12, 15, 18, 20, 22, 23)
"""The first is what examples shrink to."""
COMMON = ("f32", "u8", "i8", "i64", "i32", "bool")
UNCOMMON = ("u16", "i16", "f16", "u4", "i4")
MOST_TRIES = 60


def settle_options(
    pack: Pack, required: Sequence[tuple[Expr, bool]], named: Container[str], world: World,
    draw: Draw,
) -> None:  # fmt: skip
    """A value for every option of the pack; the default unless conditions ask for another.

    `required`: conditions, and whether each is to hold; `named`: options that the rule reads, of
    which others than the default are tried.
    """
    asked = [each for each in required if "options" in names_of(each[0])]
    for name, option in pack.options.items():
        choices = option.choices or ((False, True) if isinstance(option.default, bool) else ())
        usual, others = [option.default], [each for each in choices if each != option.default]
        varied = name in named and chance(draw, 25)
        first = draw.integer(0, len(others)) if varied else 0
        order = [*usual, *others]
        for value in order[first:] + order[:first]:
            world.options[name] = value
            if all(holds(each, world) in (None, wanted) for each, wanted in asked):
                break
        else:
            raise Unsatisfiable(f"no value of option {name} meets the conditions")


def settle_opset(solver: Solver, pack: Pack) -> None:
    nodes = solver.world.structure.nodes
    least = pack.needs.get("", 0)
    settled = solver.world.opset
    candidates = (settled,) if settled else OPSETS
    usable = [v for v in candidates if v >= least and all(_exists(node, v) for node in nodes)]

    def assign(version: int) -> None:
        solver.world.opset = version

    solver.choose([usable], assign, "opset", ("opset",))


def _exists(node: PatternNode, opset: int) -> bool:
    found = schema(node.op, opset)
    if found is None:
        return False
    count = len(node.inputs)
    if count and found.input(count - 1) is None:
        return False
    if count < found.min_inputs and node.rest is None:
        return False
    named = [*node.fixed, *(name for name, (_, optional) in node.captured.items() if not optional)]
    newest = schema(node.op, 25)
    return all(
        name in found.attributes or (newest is not None and name in newest.attributes)
        for name in named
    )


def settle_types(solver: Solver) -> None:
    """An element type for every value."""
    groups = _groups(solver)
    # the fewer types are possible, the earlier
    roots = dict.fromkeys(groups.root(slot) for slot in groups.order)
    order = sorted(roots, key=lambda slot: len(groups.domain(slot)))
    if not _search(solver, groups, order, [MOST_TRIES]):
        raise Unsatisfiable("no element types meet the conditions")


def _search(solver: Solver, groups: _Groups, waiting: list[Slot], left: list[int]) -> bool:
    """Types for the groups that wait, going back where one has none; `left`: tries that remain."""
    if not waiting:
        return True
    members = groups.members(waiting[0])

    def assign(name: str) -> None:
        for member in members:
            solver.world.dtypes[member] = name

    domain = sorted(groups.domain(waiting[0]), key=_rank)
    usual = _usual(solver, domain)
    first = solver.draw.integer(0, len(usual) - 1)
    others = [name for name in domain if name not in usual]
    touched = {name.partition(".")[0] for name in members}
    for name in usual[first:] + usual[:first] + others:
        assign(name)
        if not solver.consistent(touched):
            continue
        left[0] -= 1
        if left[0] < 0 or _search(solver, groups, waiting[1:], left):
            return left[0] >= 0
    for member in members:
        solver.world.dtypes.pop(member, None)
    return False


def _rank(name: str) -> int:
    order = (*COMMON, *UNCOMMON)
    return order.index(name) if name in order else len(order)


def _usual(solver: Solver, types: list[str]) -> list[str]:
    """Mostly float32 where any float will do; no types that onnxruntime knows little of."""
    known = [name for name in types if name in (*COMMON, *UNCOMMON)]
    if "f32" in known and not chance(solver.draw, 8):
        return ["f32"]
    return known or types


class _Groups:
    """Values that have one element type, and which they may have."""

    def __init__(self) -> None:
        self.parent: dict[Slot, Slot] = {}
        self.domains: dict[Slot, set[str]] = {}
        self.order: list[Slot] = []

    def root(self, slot: Slot) -> Slot:
        if slot not in self.parent:
            self.parent[slot] = slot
            self.order.append(slot)
        while self.parent[slot] != slot:
            slot = self.parent[slot]
        return slot

    def restrict(self, slot: Slot, types: Iterable[str]) -> None:
        root = self.root(slot)
        known = self.domains.get(root)
        self.domains[root] = set(types) if known is None else known & set(types)

    def join(self, one: Slot, other: Slot) -> None:
        one, other = self.root(one), self.root(other)
        if one == other:
            return
        self.parent[other] = one
        if other in self.domains:
            self.restrict(one, self.domains.pop(other))

    def members(self, slot: Slot) -> list[Slot]:
        root = self.root(slot)
        return [each for each in self.order if self.root(each) == root]

    def domain(self, slot: Slot) -> set[str]:
        found = self.domains.get(self.root(slot), set())
        if not found:
            raise Unsatisfiable(f"no element type fits {slot}")
        return found


def _groups(solver: Solver) -> _Groups:
    groups = _Groups()
    opset = solver.world.opset
    for node in solver.world.structure.nodes:
        variables: dict[str, Slot] = {}
        slots = [(i, s, False) for i, s in enumerate(node.inputs) if s is not None]
        slots += [(i, s, True) for i, s in enumerate(node.outputs)]
        for index, slot, output in slots:
            variable, types = allowed_types(node.op, opset, index, output)
            if not types:
                raise Unsatisfiable(f"{node.op} has no such operand at opset {opset}")
            groups.restrict(slot, _constant_types(node) or types)
            if variable:
                groups.join(variables.setdefault(variable, slot), slot)
        if is_quantizer(node.op):
            _join_quantizer(groups, node, opset)
    return groups


def _constant_types(node: PatternNode) -> tuple[str, ...]:
    """The type that the attribute of a Constant says."""
    kinds = {"value_float": "f32", "value_floats": "f32", "value_int": "i64", "value_ints": "i64"}
    return tuple(kinds[name] for name in node.captured if name in kinds)


def _join_quantizer(groups: _Groups, node: PatternNode, opset: int) -> None:
    """The float side has the type of the scale; without zero point codes are u8 before opset 21."""
    quantizing = node.op.endswith("::QuantizeLinear") or node.op == "QuantizeLinear"
    real, scale = (node.inputs[0] if quantizing else node.outputs[0]), node.inputs[1]
    if real is not None and scale is not None:
        groups.join(scale, real)
    missing = len(node.inputs) < 3 or node.inputs[2] is None
    if quantizing and missing and (opset < 21 or node.op.startswith("com.microsoft")):
        groups.restrict(node.outputs[0], ("u8",))
