"""A pack: rules and everything they refer to, from all files and parents, ready to be checked.

Names are resolved by merge_packs.py: one name means one thing in the whole pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..syntax import (
    Fragment,
    Guard,
    OpDeclaration,
    OpName,
    OpSet,
    Option,
    Property,
    Rule,
    Source,
    Span,
)

DEFAULT_PHASE = "fuse"
"""Where a rule goes that names no phase, if the pack has this phase; else into the last one."""


@dataclass(frozen=True, slots=True)
class PackRule:
    """A rule, the pack that wrote it and the phase it runs in; ``rule.span.source`` is its file."""

    rule: Rule
    pack: str
    phase: str

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def full_name(self) -> str:
        """``pack/rule``, as in reports and in the metadata of the nodes that it makes."""
        return f"{self.pack}/{self.rule.name}"


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of a Python module, declared by a rule file; nothing is imported yet."""

    module: str
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Pack:
    """What ``load_pack`` makes of pack folders, parents and rule files."""

    name: str
    """The packs asked for, joined by ``+``."""
    title: str
    parents: tuple[str, ...]
    """Names of all packs it is made of, ancestors first, itself last."""
    phases: tuple[str, ...]
    """In the order they run."""
    options: Mapping[str, Option]
    needs: Mapping[str, int]
    """The least version of each opset; the domain of ai.onnx is ``""``."""
    needs_of: Mapping[str, Mapping[str, int]]
    """By pack: what it needs itself and by its parents.  Its rules are written for these versions,
    whatever a child that extends it needs beyond."""
    switched_off: frozenset[str]
    """Rules that a pack had by way of a parent and is ``without``."""
    op_sets: Mapping[str, OpSet]
    properties: Mapping[str, Property]
    fragments: Mapping[str, Fragment]
    guards: Mapping[str, Guard]
    declarations: Mapping[str, OpDeclaration]
    """Custom ops, by ``domain::Name``; by the name alone in ai.onnx."""
    functions: Mapping[str, PythonFunction]
    rules: tuple[PackRule, ...]
    """By phase, then by name; every name once."""
    sources: tuple[Source, ...]
    """Every file read, the prelude first."""

    def rules_of(self, phase: str) -> tuple[PackRule, ...]:
        return tuple(rule for rule in self.rules if rule.phase == phase)

    def rule(self, name: str) -> PackRule | None:
        """The rule of that name (``conv``) or full name (``onnx/conv``)."""
        for rule in self.rules:
            if name in (rule.name, rule.full_name):
                return rule
        return None


def op_key(op: OpName) -> str:
    """``Conv`` for ai.onnx, else ``domain::Name``: how the graph names its ops."""
    return f"{op.domain}::{op.name}" if op.domain else op.name
