"""Which values are constants and what they hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qrewrite.patterns.syntax import Call, Name

from .draws import chance
from .expand_pattern import Unsatisfiable
from .site import Shape, comparisons
from .solver import Solver
from .structure import Slot
from .truth import holds, number
from .world import NUMPY, Array, World, is_integer, is_quantizer, limits

COMPUTED = ("f32", "u8", "i8", "u16", "i16")
"""Element types of which a value can be made by a node outside of the pattern."""
WEIGHTED = {
    "Conv",
    "ConvTranspose",
    "MatMul",
    "Gemm",
    "MatMulInteger",
    "ConvInteger",
    "QLinearConv",
}
"""Ops whose operands behind the first are constants in practice."""


def settle_contents(solver: Solver) -> None:
    """Every value without a producer becomes a graph input, an initializer, or both."""
    for slot in leaves(solver.world):
        if slot in solver.world.contents:
            _maybe_overridable(solver, slot)
            continue
        _leaf(solver, slot)


def leaves(world: World) -> list[Slot]:
    made = {slot for node in world.structure.nodes for slot in node.outputs}
    slots = dict.fromkeys(s for node in world.structure.nodes for s in node.inputs if s is not None)
    return [slot for slot in slots if slot not in made]


def _leaf(solver: Solver, slot: Slot) -> None:
    world = solver.world
    if slot not in world.shapes:
        raise Unsatisfiable(f"{slot} has no shape")
    seed = solver.draw.integer(0, 3)

    def assign(kind: str) -> None:
        world.contents.pop(slot, None)
        world.inputs.discard(slot)
        world.computed.discard(slot)
        if kind == "input":
            world.inputs.add(slot)
        elif kind == "computed":
            world.computed.add(slot)
        elif kind.startswith("value "):
            value = np.full(world.shapes[slot], float(kind[6:]))
            world.contents[slot] = value.astype(NUMPY[world.dtypes[slot]])
        else:
            world.contents[slot] = content(world.dtypes[slot], world.shapes[slot], kind, seed)

    constants = list(_kinds(solver, slot))
    if world.dtypes[slot] in ("u4", "i4", "u2", "i2"):  # these cannot be fed
        solver.choose([constants], assign, f"content of {slot}", (slot,))
        return
    mostly = _is_weight(world, slot)
    order = ["input"]
    if (mostly and not chance(solver.draw, 12)) or (not mostly and chance(solver.draw, 4)):
        order = constants
    every = ["computed", *constants, "input", *_asked(solver, slot)]
    if world.dtypes[slot] not in COMPUTED:
        every = every[1:]
    solver.choose([order, every], assign, f"content of {slot}", (slot,))
    _maybe_overridable(solver, slot)


def _asked(solver: Solver, slot: Slot) -> list[str]:
    """Numbers that conditions compare the value with."""
    found = []
    for atom in solver.atoms:
        for operand, others in comparisons(atom.expression):
            if isinstance(operand, Name) and operand.id == slot:
                found += [number(other, solver.world) for other in others]
    return [f"value {float(v.reshape(-1)[0])}" for v in found if v is not None and v.size == 1]


def _maybe_overridable(solver: Solver, slot: Slot) -> None:
    """An initializer that is a graph input as well is no constant."""
    world = solver.world
    wanted = any(
        not atom.holds and isinstance(atom.expression, Call)
        and atom.expression.function == "is_const"
        and atom.expression.arguments == (Name(slot, atom.expression.span),)
        and holds(atom.expression, world)
        for atom in solver.atoms
    )  # fmt: skip
    if slot in world.contents and (wanted or (not solver.tame and chance(solver.draw, 3))):
        world.overridable.add(slot)
        if not solver.consistent():
            world.overridable.discard(slot)


def _is_weight(world: World, slot: Slot) -> bool:
    """Directly or behind a DequantizeLinear an operand that is constant in practice."""
    for node in world.structure.consumers(slot):
        if is_quantizer(node.op) and node.inputs[0] == slot:
            if any(_is_weight(world, output) for output in node.outputs):
                return True
        elif node.op in WEIGHTED and slot in node.inputs[1:]:
            return True
    return False


def _kinds(solver: Solver, slot: Slot) -> Iterator[str]:
    dtype = solver.world.dtypes[slot]
    if f"{slot}.scale" in solver.multiples:
        yield from ("within 64", "small")
        return
    if is_integer(dtype):
        yield from (
            ("within 64", "small", "full")
            if not chance(solver.draw, 40)
            else ("full", "within 64", "small")
        )
        yield "zero"
        return
    casts = [n for n in solver.world.structure.consumers(slot) if n.op == "Cast"]
    if any(is_integer(solver.world.dtypes[node.outputs[0]]) for node in casts):
        yield "whole"
    yield "normal"
    if not solver.tame and chance(solver.draw, 25):
        yield from ("zero", "huge", "tiny", "nan", "infinite", "one large")


def content(dtype: str, shape: Shape, kind: str, seed: int) -> Array:
    """An array of a kind of content; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if is_integer(dtype):
        return _codes(rng, dtype, shape, kind)
    values = rng.normal(0, 0.4, shape)
    if kind == "whole":
        values = np.rint(np.abs(values) * 10)
    scales = {"zero": 0.0, "huge": 1e30, "tiny": 1e-41}
    values = values * scales.get(kind, 1.0)
    special = {"nan": np.nan, "infinite": np.inf, "one large": 1e4}
    if kind in special and values.size:
        values.reshape(-1)[0] = special[kind]
    with np.errstate(all="ignore"):
        return np.asarray(values.astype(NUMPY[dtype]))


def _codes(rng: np.random.Generator, dtype: str, shape: Shape, kind: str) -> Array:
    low, high = limits(dtype)
    reach = {"within 64": 64, "small": 3, "zero": 0}.get(kind)
    if dtype == "i32":
        reach = {"full": 1 << 31, "within 64": 1000}.get(kind, reach)
    if reach is not None:
        low, high = max(low, -reach), min(high, reach)
    codes = rng.integers(low, high, shape, dtype=np.int64, endpoint=True)
    if codes.size > 1 and rng.integers(0, 2):
        codes.reshape(-1)[0], codes.reshape(-1)[-1] = low, high
    return codes.astype(NUMPY[dtype])
