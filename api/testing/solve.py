"""From a rule to a graph in which everything is settled: a match of the rule, or a near miss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import Call, Expr, Field, Name, Rule, Where

from .draws import Draw, chance
from .expand_pattern import Unsatisfiable, expand_rule
from .expressions import Atom, Atoms, conjuncts, elements, names_of, walk
from .followers import follow
from .known import Known
from .settle_contents import settle_contents
from .settle_grids import settle_grids
from .settle_shapes import settle_shapes, sort_nodes
from .settle_types import settle_opset, settle_options, settle_types
from .solver import Solver
from .structure import Choice, Structure
from .truth import holds
from .world import World


@dataclass
class Solved:
    """A settled graph, and which places of the rule it exercises."""

    world: World
    choices: list[Choice] = field(default_factory=list)
    broken: Choice | None = None
    """The condition that a near miss breaks."""


@dataclass(frozen=True)
class Setting:
    """What is settled beforehand.  Scales and contents are then those common in practice: what is
    extreme makes the rounding of a whole net meaningless, and is for the tests of single rules."""

    opset: int
    options: Mapping[str, object]
    """A value for every option of the pack."""


def solve(
    pack: Pack, rule: Rule, draw: Draw, miss: int | None = None, setting: Setting | None = None
) -> Solved:
    """Settle a graph that `rule` must match; with `miss`, one that breaks that condition.

    Raises Unsatisfiable where a choice cannot be completed.
    """
    with np.errstate(all="ignore"):
        return _solve(pack, rule, draw, miss, setting)


def _solve(pack: Pack, rule: Rule, draw: Draw, miss: int | None, setting: Setting | None) -> Solved:
    tame = setting is not None or not chance(draw, 45)
    structure = expand_rule(pack, rule, draw)
    asked = follow(pack, rule, structure, draw)
    sort_nodes(structure)
    world = World(structure)
    conditions = all_conditions(rule, structure.conditions)
    required = _options(pack, rule, world, draw, [*conditions, *asked], miss, setting)
    parts = Atoms(
        pack,
        {*structure.captures, *structure.absent},
        structure.absent,
        draw,
        Known(world, required).holds,
    )
    atoms: list[Atom] = []
    broken: Choice | None = None
    lists = {name: structure.captures[name] for name in structure.lists}
    for index, condition in enumerate(conditions):
        for each in elements(condition, lists):
            if index == miss:
                found = parts.of(each, False)
                broken = found[0].choice if found else None
            else:
                found = parts.of(each)
            atoms += found
    own_branches = list(parts.choices)
    if miss is not None and broken is None:
        raise Unsatisfiable("there is no such condition to break")
    further = [
        atom
        for condition in asked
        for each in elements(condition, lists)
        for atom in parts.of(each)
    ]
    solver = Solver(world, [*atoms, *further], draw, tame)
    solver.multiples = dict(_multiples(rule, structure))
    _uses(structure, solver.atoms)
    solver.require("each other")
    _settle(solver, pack)
    choices = [*structure.choices, *own_branches]
    choices += [atom.choice for atom in atoms if holds(atom.expression, world) is atom.holds]
    return Solved(world, choices, broken)


def _options(
    pack: Pack, rule: Rule, world: World, draw: Draw, conditions: Sequence[Expr], miss: int | None,
    setting: Setting | None,
) -> list[tuple[Expr, bool]]:  # fmt: skip
    """Settle the options; the conditions taken apart, and whether each is to hold."""
    required = [
        (each, True)
        for index, condition in enumerate(conditions)
        if index != miss
        for each in conjuncts(pack, condition)
    ]
    if miss is not None and miss < len(conditions):
        required.append((conditions[miss], False))
    if setting is None:
        named = {
            each.name
            for part in (rule, *(condition for condition, _ in required))
            for each in walk(part)
            if isinstance(each, Field)
        }
        settle_options(pack, required, named, world, draw)
        return required
    world.opset = setting.opset
    world.options.update(setting.options)
    if any(holds(condition, world) not in (None, wanted) for condition, wanted in required):
        raise Unsatisfiable("the conditions contradict the options")
    return required


def _multiples(rule: Rule, structure: Structure) -> Iterator[tuple[str, Expr]]:
    """Scales that must be a multiple of something, or else a tensor cannot be requantized."""
    for clause in rule.clauses:
        for _, made in getattr(clause, "bindings", ()):
            if isinstance(made, Call) and made.function == "requantize_exactly":
                tensor, grid = made.arguments
                if isinstance(tensor, Name) and tensor.id in structure.captures:
                    yield f"{tensor.id}.scale", grid


def _uses(structure: Structure, atoms: Sequence[Atom]) -> None:
    """What conditions ask of graph inputs, graph outputs and further uses."""
    there = {slot for node in structure.nodes for slot in (*node.inputs, *node.outputs) if slot}
    for atom in atoms:
        call = atom.expression
        match call:
            case Call(arguments=(Name(id=slot),)) if slot in there:
                pass
            case _:
                continue
        if call.function == "is_output":
            (structure.shown if atom.holds else structure.hidden).add(slot)
        elif call.function == "is_input" and atom.holds:
            structure.fed.add(slot)
    for atom in atoms:
        for each in walk(atom.expression):
            if isinstance(each, Call) and each.function == "use_count":
                (structure.lone if atom.holds else structure.shared).update(
                    there & {*names_of(each)}
                )
    if structure.shown & structure.hidden:
        raise Unsatisfiable("a value is to be a graph output and not to be one")


def _settle(solver: Solver, pack: Pack) -> None:
    settle_opset(solver, pack)
    settle_types(solver)
    settle_shapes(solver)
    settle_grids(solver)
    solver.world.complete = True
    settle_contents(solver)
    if solver.broken():
        raise Unsatisfiable("the conditions contradict each other here")


def all_conditions(rule: Rule, of_fragments: Sequence[Expr]) -> list[Expr]:
    """The conditions of a rule, those of the fragments it uses last."""
    own = [c for clause in rule.clauses if isinstance(clause, Where) for c in clause.conditions]
    return [*own, *of_fragments]
