"""Scales, zero points and their granularity, read off the conditions where those say them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qrewrite.patterns.syntax import Call, Compare, Expr, Field, Name

from .draws import chance
from .expressions import Atom, names_of
from .site import comparisons
from .solver import Solver
from .structure import PatternNode, Slot
from .truth import number
from .world import NUMPY, Array, World, is_integer, is_quantizer, limits

COMMON_SCALES = (0.05, 0.02, 0.1, 0.5, 1.0, 0.0078125, 0.0123, 2.0, 0.003)
RARE_SCALES = (
    -0.05, -0.5, -1.0, -0.02, 0.0, 1e-40, 3e-39, 1e-30, 1e-12, 1e12, 1e30, 3e38,
    float("inf"), float("nan"), 40.0,
)  # fmt: skip


MULTIPLES = (1, 2, 3, 16)

Layout = tuple[tuple[int, ...], int | None, int]
"""Shape of the scale, axis and block size (0: not blocked)."""


@dataclass(frozen=True)
class Grid:
    """The slots of one grid and the node that states its axis."""

    node: PatternNode
    codes: Slot
    scale: Slot
    zero_point: Slot | None


def grids(world: World) -> list[Grid]:
    """The grids of all quantizers, each once."""
    found: dict[Slot, Grid] = {}
    for node in world.structure.nodes:
        if not is_quantizer(node.op) or len(node.inputs) < 2:
            continue
        data, scale, *rest = node.inputs
        codes = node.outputs[0] if node.op.endswith("::QuantizeLinear") else data
        codes = node.outputs[0] if node.op == "QuantizeLinear" else codes
        if codes is not None and scale is not None and scale not in found:
            found[scale] = Grid(node, codes, scale, rest[0] if rest else None)
    return list(found.values())


def settle_grids(solver: Solver) -> None:
    """Granularity, scale and zero point of every grid; those that conditions derive come last."""
    # those without a zero point first: their zero is not a matter of choice
    waiting = sorted(grids(solver.world), key=lambda grid: grid.zero_point is not None)
    while waiting:
        grid = min(waiting, key=lambda grid: _precedence(solver, grid))
        waiting.remove(grid)
        _output_dtype(solver, grid)
        if solver.world.structure.producer(grid.scale) is None:
            _settle(solver, grid)
        else:
            _zero_point(solver, grid)


def _precedence(solver: Solver, grid: Grid) -> int:
    """First what follows from what is settled, then what no condition derives."""
    derived = [other for _, _, other in _derived(solver, grid)]
    if grid.scale in solver.multiples:
        derived.append(solver.multiples[grid.scale])
    for other in derived:
        if isinstance(other, Name):
            if f"{other.id}.scale" in solver.world.contents:
                return 0
        elif number(other, solver.world) is not None:
            return 0
    return 1 if not derived else 2


def _derived(solver: Solver, grid: Grid) -> Iterator[tuple[Atom, Expr, Expr]]:
    """Conditions that say what the scale or grid is: the condition, this side, the other side."""
    for atom in solver.atoms:
        equality = isinstance(atom.expression, Call) or (
            isinstance(atom.expression, Compare) and atom.expression.rest[0][0] == "=="
        )
        if not atom.holds or not equality:
            continue
        for operand, others in comparisons(atom.expression):
            for other in others:
                if _names(operand, grid) and not _names(other, grid):
                    yield atom, operand, other


def _names(expression: Expr, grid: Grid) -> bool:
    """The expression is the scale of the grid, or the tensor itself (of `same_grid`)."""
    match expression:
        case Field(base=Name() as base, name="scale"):
            return f"{base.id}.scale" == grid.scale
        case Name():
            return expression.id == grid.codes
        case _:
            return False


def _output_dtype(solver: Solver, grid: Grid) -> None:
    """Of a QuantizeLinear without zero point whose codes are not u8; in rare cases beside one."""
    node, world = grid.node, solver.world
    if node.op != "QuantizeLinear" or world.opset < 21:
        return
    dtype = world.dtypes[grid.codes]
    if (grid.zero_point is None and dtype != "u8") or chance(solver.draw, 4):
        from onnx import helper

        number_of = helper.np_dtype_to_tensor_dtype(NUMPY[dtype])
        world.decide(node, "output_dtype", int(number_of))


def _settle(solver: Solver, grid: Grid) -> None:
    for _, operand, other in _derived(solver, grid):
        if isinstance(operand, Name) and isinstance(other, Name) and _copy(solver, grid, other.id):
            return
    values = [number(other, solver.world) for _, _, other in _derived(solver, grid)]
    given = [value for value in values if value is not None]
    if given and _assign_given(solver, grid, given[0]):
        _zero_point(solver, grid)
        return
    if not _multiple(solver, grid):
        _granularity(solver, grid)
        _scale(solver, grid)
    _zero_point(solver, grid)


def _multiple(solver: Solver, grid: Grid) -> bool:
    """A multiple of another grid, so that its codes can be said in that one."""
    wanted = solver.multiples.get(grid.scale)
    value = None if wanted is None else number(wanted, solver.world)
    if value is None:
        return False
    first = solver.draw.integer(0, len(MULTIPLES) - 1)
    order = MULTIPLES[first:] + MULTIPLES[:first]
    return any(_assign_given(solver, grid, np.asarray(value * factor)) for factor in order)


def _copy(solver: Solver, grid: Grid, other: str) -> bool:
    """The grid of another tensor, if that is settled and there is none against it."""
    world = solver.world
    scale, zero_point = f"{other}.scale", f"{other}.zero_point"
    if scale not in world.contents:
        return False
    world.contents[grid.scale] = world.contents[scale]
    world.shapes[grid.scale] = world.shapes[scale]
    _axis_attribute(solver, grid, 1)
    if grid.zero_point is not None:
        zeros = world.contents.get(zero_point, np.zeros(world.shapes[scale]))
        _put_zero_point(solver, grid, zeros)
    elif zero_point in world.contents and np.any(world.contents[zero_point].astype(np.int64)):
        world.contents[zero_point] = np.zeros_like(world.contents[zero_point])
    if solver.consistent():
        return True
    _forget(solver, grid)
    return False


def _forget(solver: Solver, grid: Grid) -> None:
    for slot in (grid.scale, grid.zero_point):
        if slot is not None:
            solver.world.contents.pop(slot, None)
            solver.world.shapes.pop(slot, None)


def _assign_given(solver: Solver, grid: Grid, value: Array) -> bool:
    world = solver.world
    value = value.astype(NUMPY[world.dtypes[grid.scale]])
    if value.shape == (1,) and chance(solver.draw, 50):
        value = value.reshape(())
    rank = len(world.shapes[grid.codes])
    axes = [i for i in range(rank) if world.shapes[grid.codes][i] == value.size]
    if value.ndim == 1 and value.size > 1 and not axes:
        return False
    world.contents[grid.scale], world.shapes[grid.scale] = value, value.shape
    if value.ndim == 1 and rank:
        _axis_attribute(solver, grid, axes[0] if axes else 0)
    if solver.consistent():
        return True
    _forget(solver, grid)
    return False


def _axis_attribute(solver: Solver, grid: Grid, axis: int) -> None:
    known = solver.world.opset >= 13 or "::" in grid.node.op
    solver.world.decide(grid.node, "axis", axis if axis != 1 and known else None)


# ---- granularity ------------------------------------------------------------------------------


def _granularity(solver: Solver, grid: Grid) -> None:
    """Shape of the scale, axis and block size."""
    world = solver.world
    shape = world.shapes[grid.codes]
    constant_like = world.structure.producer(grid.codes) is None
    layouts: list[Layout] = [((), None, 0), ((1,), None, 0)]
    per_axis: list[Layout] = [((n,), axis, 0) for axis, n in enumerate(shape) if n]
    per_axis += [((n,), axis - len(shape), 0) for axis, n in enumerate(shape) if n]
    if world.opset < 13 and "::" not in grid.node.op:
        per_axis = []
    blocked: list[Layout] = []
    if world.opset >= 21 and "::" not in grid.node.op and len(shape) > 1:
        for axis in (0, len(shape) - 1):
            for size in (2, 16, 32):
                if shape[axis] >= size:
                    blocks = [-(-n // size) if i == axis else n for i, n in enumerate(shape)]
                    blocked.append((tuple(blocks), axis, size))

    def assign(layout: Layout) -> None:
        world.shapes[grid.scale] = layout[0]
        if grid.zero_point is not None:
            world.shapes[grid.zero_point] = layout[0]
        world.decide(grid.node, "axis", layout[1] if layout[1] != 1 else None)
        world.decide(grid.node, "block_size", layout[2] or None)

    if grid.zero_point is not None and world.structure.producer(grid.zero_point) is not None:
        per_axis = blocked = []
        layouts = layouts[:1]
    touched = (grid.codes, grid.scale)
    lists = [layouts, [*per_axis, *blocked]]
    if chance(solver.draw, 45 if constant_like else 12):
        lists.reverse()
    solver.choose(lists, assign, f"granularity of {grid.scale}", touched)


# ---- scale ------------------------------------------------------------------------------------


def _scale(solver: Solver, grid: Grid) -> None:
    world = solver.world
    shape = world.shapes[grid.scale]
    dtype = NUMPY[world.dtypes[grid.scale]]
    steps = 1 + (np.arange(math.prod(shape)).reshape(shape) % 5) / 4

    def assign(scale: float) -> None:
        with np.errstate(all="ignore"):
            world.contents[grid.scale] = np.asarray(scale * steps).astype(dtype)

    common = [*COMMON_SCALES, 2.0 ** -solver.draw.integer(1, 12)]
    candidates = solver.prefer(common, RARE_SCALES, 40)
    touched = (grid.codes, grid.scale)
    if solver.find(candidates, assign, touched) is None:
        solver.choose([_solved(solver, grid)], assign, f"value of {grid.scale}", touched)
    if not solver.tame and chance(solver.draw, 4):
        world.pinned.add(grid.scale)
        if not solver.consistent():
            world.pinned.discard(grid.scale)


def _solved(solver: Solver, grid: Grid) -> list[float]:
    """Scales that satisfy an inequality: each side is taken for a power of the scale."""
    world = solver.world
    dtype = NUMPY[world.dtypes[grid.scale]]
    shape = world.shapes[grid.scale]
    found: list[float] = []
    for atom in solver.atoms:
        expression = atom.expression
        if not isinstance(expression, Compare) or grid.codes not in names_of(expression):
            continue
        sign = expression.rest[0][0]
        ratios: list[float] = []
        for scale in (1e-3, 2e-3):
            world.contents[grid.scale] = np.full(shape, scale).astype(dtype)
            ratios.append(_ratio(expression, world) or 0.0)
        if 0.0 in ratios:
            continue
        power = float(np.log2(ratios[1] / ratios[0]))
        if abs(power) < 0.1:
            continue
        below = (sign in ("<", "<=")) is atom.holds
        targets = (0.5, 0.99, 1e-3) if below else (2.0, 1.01, 1e3)
        with np.errstate(all="ignore"):
            found += [1e-3 * float((target / ratios[0]) ** (1 / power)) for target in targets]
    return [value for value in found if np.isfinite(value)]


def _ratio(expression: Compare, world: World) -> float | None:
    left, right = number(expression.first, world), number(expression.rest[0][1], world)
    if left is None or right is None or not left.size or not right.size:
        return None
    with np.errstate(all="ignore"):
        ratio = float(
            np.max(np.abs(left.astype(np.float64))) / np.max(np.abs(right.astype(np.float64)))
        )
    return ratio if np.isfinite(ratio) else None


# ---- zero point -------------------------------------------------------------------------------


def _zero_point(solver: Solver, grid: Grid) -> None:
    if grid.zero_point is None or solver.world.structure.producer(grid.zero_point) is not None:
        return
    dtype = solver.world.dtypes[grid.zero_point]
    if not is_integer(dtype):
        _put_zero_point(solver, grid, np.zeros(()))
        return
    low, high = limits(dtype)
    middle = (low + high + 1) // 2
    candidates = [middle, 0, low, high, middle + 1, middle - 3]
    if dtype == "i32":
        candidates = [0, 0, 0, 0, 1, -7]
    candidates = [n for n in candidates if low <= n <= high]
    if dtype != "i32" and chance(solver.draw, 30):
        candidates.insert(0, solver.draw.integer(max(low, -(1 << 15)), min(high, 1 << 15)))
    uniform = solver.world.shapes[grid.scale] in ((), (1,)) or not chance(solver.draw, 30)

    def assign(value: int) -> None:
        shape = solver.world.shapes[grid.scale]
        steps = np.zeros(shape) if uniform else np.arange(math.prod(shape)).reshape(shape) % 3
        _put_zero_point(solver, grid, np.asarray(np.clip(value + steps, low, high)))

    lists = (candidates, _zero_points_asked(solver, grid))
    solver.choose(lists, assign, "zero point", (grid.codes, grid.zero_point))


def _zero_points_asked(solver: Solver, grid: Grid) -> list[int]:
    found = []
    for atom in solver.atoms:
        for operand, others in comparisons(atom.expression):
            if not isinstance(operand, Field) or not isinstance(operand.base, Name):
                continue
            if f"{operand.base.id}.{operand.name}" == grid.zero_point:
                found += [number(other, solver.world) for other in others]
    return [int(value.reshape(-1)[0]) for value in found if value is not None and value.size]


def _put_zero_point(solver: Solver, grid: Grid, values: Array) -> None:
    world = solver.world
    assert grid.zero_point is not None
    dtype = NUMPY[world.dtypes[grid.zero_point]]
    shape = world.shapes[grid.scale]
    if values.size == 1:
        values = np.broadcast_to(values.reshape(()), shape)
    world.contents[grid.zero_point] = values.reshape(shape).astype(np.int64).astype(dtype)
    world.shapes[grid.zero_point] = shape
