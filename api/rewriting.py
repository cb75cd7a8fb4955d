"""Rewriting a model: packs become a program, a model becomes a graph, the program runs on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from types import MappingProxyType
from typing import TypeVar

from onnx import ModelProto

from qrewrite.engine.errors import RuleError
from qrewrite.engine.graph import Node
from qrewrite.engine.io.models import read_model
from qrewrite.engine.protocols import Phase, Rule
from qrewrite.engine.run.fixpoint import Progress, run
from qrewrite.engine.schemas.schema import Schema
from qrewrite.loading import PackLike, load_pack
from qrewrite.patterns.packs.declared_ops import declared_schema
from qrewrite.patterns.packs.options import settings
from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.program import compile_pack
from qrewrite.patterns.syntax import Setting
from qrewrite.result import RewriteResult
from qrewrite.selection import Selection, parse_selection
from qrewrite.summary import Summary, count_ops, fired_rules, made_nodes, recoding_notes

T = TypeVar("T")

PREPARING = "prepare"
"""The phase that turns constant nodes into initializers."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to do with models, as the user says it: the arguments of `rewrite`."""

    packs: tuple[PackLike, ...] = ()
    rules: tuple[str | PathLike[str], ...] = ()
    options: Mapping[str, Setting] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    allow_python: bool = False

    def prepare(self) -> Program:
        """Load, check and compile.  Raises QrewriteError for what is wrong with it."""
        selection = parse_selection(self.only, self.skip)
        pack = self._pack()
        options = settings(pack, self.options)
        schemas = tuple(map(declared_schema, pack.declarations.values()))
        return Program(pack, compile_pack(pack, options), options, schemas, selection)

    def _pack(self) -> Pack:
        loaded = [pack for pack in self.packs if isinstance(pack, Pack)]
        if not loaded:
            names = [pack for pack in self.packs if not isinstance(pack, Pack)]
            return load_pack(*names, rules=self.rules, allow_python=self.allow_python)
        if len(self.packs) > 1 or self.rules:
            raise RuleError("a loaded pack stands alone: give load_pack all packs and rule files")
        return loaded[0]


@dataclass(frozen=True, slots=True)
class Program:
    """A recipe that is ready to run on models."""

    pack: Pack
    phases: Sequence[Phase]
    options: Mapping[str, Setting]
    schemas: tuple[Schema, ...]
    """Of the custom ops that the pack declares."""
    selection: Selection

    @property
    def anchors(self) -> frozenset[str]:
        """The ops that its rules are tried on."""
        return frozenset(op for phase in self.phases for rule in phase.rules for op in rule.anchors)

    def allows(self, rule: Rule, node: Node) -> bool:
        """Whether the user lets `rule` fire at `node`, the node it is anchored at."""
        entry = self.pack.rule(f"{rule.pack}/{rule.name}")
        prepares = entry is not None and entry.phase == PREPARING
        return self.selection.allows(rule.pack, rule.name, node.known_as, prepares=prepares)


def rewrite_by(
    program: Program, model: str | PathLike[str] | ModelProto, progress: Progress | None = None
) -> RewriteResult:
    """Run a program on one model; see `rewrite`."""
    view = read_model(model, anchors=program.anchors, declared=program.schemas)
    before = count_ops(view)
    outcome = run(
        view,
        program.phases,
        program.options,
        filter=program.allows if program.selection.restricts else None,
        progress=progress,
    )
    times = Counter(f"{applied.pack}/{applied.rule}" for applied in outcome.applied)
    summary = Summary(
        fired_rules(program.pack, times),
        before,
        count_ops(view),
        made_nodes(view),
        recoding_notes(program.pack, times),
    )
    return RewriteResult(summary, view, program, tuple(outcome.applied))


def rewrite(
    model: str | PathLike[str] | ModelProto,
    packs: PackLike | Sequence[PackLike] = (),
    *,
    rules: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    options: Mapping[str, Setting] = MappingProxyType({}),
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    allow_python: bool = False,
    progress: Progress | None = None,
) -> RewriteResult:
    """Rewrite a model by packs and rules until no rule fires any more.

    `model` is a path or a ModelProto, which is left as it is.  `packs` are names, folders or packs
    from `load_pack`, `rules` rule files on top of them; of rules of one name the later one holds.
    `options` are values for options of the packs.  `only` and `skip` hold patterns `rule:GLOB` and
    `node:GLOB`.  `allow_python` lets rule files import the Python functions that they name.
    `progress` is called now and then with the phase's name, the nodes looked at and those left.

    Raises FileError, ModelError or RuleError, each with one sentence that says what is wrong.
    """
    recipe = recipe_of(packs, rules, options, only, skip, allow_python)
    return rewrite_by(recipe.prepare(), model, progress)


def recipe_of(
    packs: PackLike | Sequence[PackLike],
    rules: str | PathLike[str] | Sequence[str | PathLike[str]],
    options: Mapping[str, Setting],
    only: Sequence[str],
    skip: Sequence[str],
    allow_python: bool,
) -> Recipe:
    """The arguments of `rewrite`, of which some may be given alone."""
    return Recipe(
        packs=_as_tuple(packs),
        rules=_as_tuple(rules),
        options=options,
        only=tuple(only),
        skip=tuple(skip),
        allow_python=allow_python,
    )


def _as_tuple(one_or_more: T | Sequence[T]) -> tuple[T, ...]:
    if isinstance(one_or_more, Sequence) and not isinstance(one_or_more, str):
        return tuple(one_or_more)
    return (one_or_more,)
