"""The opsets of ai.onnx that a rule may meet: what its pack needs, less what it excludes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..packs.pack import Pack
from ..syntax import Call, Compare, Expr, Literal, Logical, Name, Rule, Where
from .signatures import Opsets

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class OpsetRanges:
    """Finds the ranges of the rules of one pack."""

    def __init__(self, pack: Pack, opsets: Opsets) -> None:
        self._opsets = opsets
        self._guards = {
            guard.name: list(_bounds(guard.conditions, {})) for guard in pack.guards.values()
        }

    def of(self, rule: Rule) -> Opsets:
        """The range that the conditions of a rule leave; least > most if they leave none."""
        least, most = self._opsets.least, self._opsets.most
        for clause in rule.clauses:
            if not isinstance(clause, Where):
                continue
            for operator, version in _bounds(clause.conditions, self._guards):
                if operator in (">=", ">", "=="):
                    least = max(least, version + (operator == ">"))
                if operator in ("<=", "<", "=="):
                    most = min(most, version - (operator == "<"))
        return Opsets(least, most)


def _bounds(
    conditions: Iterable[Expr], guards: Mapping[str, list[tuple[str, int]]]
) -> Iterator[tuple[str, int]]:
    """Every ``opset OPERATOR version`` that must hold."""
    for condition in conditions:
        match condition:
            case Logical("and"):
                yield from _bounds(condition.operands, guards)
            case Call(function):
                yield from guards.get(function, ())
            case Compare():
                yield from _compared(condition)
            case _:
                pass


def _compared(condition: Compare) -> Iterator[tuple[str, int]]:
    left = condition.first
    for operator, right in condition.rest:
        match left, right:
            case Name("opset"), Literal(int(version)):
                yield operator, version
            case Literal(int(version)), Name("opset"):
                yield MIRRORED[operator], version
            case _:
                pass
        left = right
