"""`--only` and `--skip`: which rules may fire, and on which nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from qrewrite.engine.errors import QrewriteError

KINDS = ("rule", "node")


class SelectionError(QrewriteError):
    """A pattern of `--only` or `--skip` is not `rule:GLOB` or `node:GLOB`."""


@dataclass(frozen=True, slots=True)
class Globs:
    """Shell-style patterns for names of rules (`conv`, `ort-cpu/conv`) and of nodes."""

    rules: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    def match_rule(self, pack: str, rule: str) -> bool:
        names = (rule, f"{pack}/{rule}")
        return any(fnmatchcase(name, glob) for glob in self.rules for name in names)

    def match_node(self, names: Iterable[str]) -> bool:
        return any(fnmatchcase(name, glob) for name in names for glob in self.nodes)


@dataclass(frozen=True, slots=True)
class Selection:
    """What may be rewritten.

    A rewrite replaces some nodes.  It is skipped when its rule or the name of one of these nodes
    fits `skip`; where `only` names rules its rule has to fit, and where it names nodes the name of
    one of its nodes has to.  `only` does not hold back the phase `prepare`, which turns constant
    nodes into initializers so that the rules chosen can see constants.
    """

    only: Globs = Globs()
    skip: Globs = Globs()

    def allows_rule(self, pack: str, rule: str, *, prepares: bool) -> bool:
        if self.skip.match_rule(pack, rule):
            return False
        return prepares or not self.only.rules or self.only.match_rule(pack, rule)

    def allows_nodes(self, names: Sequence[str], *, prepares: bool) -> bool:
        if self.skip.match_node(names):
            return False
        return prepares or not self.only.nodes or self.only.match_node(names)


def parse_globs(patterns: Iterable[str], option: str) -> Globs:
    """Sort the patterns of `option` (its name, for the message) by what they name."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for pattern in patterns:
        kind, colon, glob = pattern.partition(":")
        if kind not in found or not colon or not glob:
            raise SelectionError(f'{option} takes rule:GLOB or node:GLOB, not "{pattern}"')
        found[kind].append(glob)
    return Globs(tuple(found["rule"]), tuple(found["node"]))


def parse_selection(only: Iterable[str], skip: Iterable[str]) -> Selection:
    return Selection(parse_globs(only, "only"), parse_globs(skip, "skip"))
