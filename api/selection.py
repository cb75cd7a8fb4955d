"""`--only` and `--skip`: which rules may fire, and on which nodes."""

from __future__ import annotations

from collections.abc import Iterable
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

    def match_node(self, node: str) -> bool:
        return any(fnmatchcase(node, glob) for glob in self.nodes)


@dataclass(frozen=True, slots=True)
class Selection:
    """What may be rewritten.

    A rule fires at a node, the op its pattern is about.  It is skipped where its name or that of
    the node fits `skip`; where `only` names rules it has to be one of them, and where `only` names
    nodes the node has to be.  `only` does not hold back the phase `prepare`, which turns constant
    nodes into initializers so that the rules chosen can see constants.
    """

    only: Globs = Globs()
    skip: Globs = Globs()

    @property
    def restricts(self) -> bool:
        return self != Selection()

    def allows(self, pack: str, rule: str, node: str, *, prepares: bool) -> bool:
        only, skip = self.only, self.skip
        if skip.match_rule(pack, rule) or skip.match_node(node):
            return False
        if prepares:
            return True
        return (not only.rules or only.match_rule(pack, rule)) and (
            not only.nodes or only.match_node(node)
        )


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
