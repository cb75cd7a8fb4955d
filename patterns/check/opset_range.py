"""The opsets of ai.onnx that a rule may meet: those the pack needs, less what its conditions exclude."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..pack import Pack
from ..syntax import Call, Compare, Expr, Literal, Logical, Name, Rule, Where
from .signatures import Opsets

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def rule_opsets(rule: Rule, pack: Pack, opsets: Opsets) -> Opsets:
    """The range that the conditions of a rule leave; empty (least > most) if they leave none."""
    conditions = [
        condition
        for clause in rule.clauses
        if isinstance(clause, Where)
        for condition in clause.conditions
    ]
    least, most = opsets.least, opsets.most
    for operator, version in _bounds(conditions, pack):
        if operator in (">=", ">", "=="):
            least = max(least, version + (operator == ">"))
        if operator in ("<=", "<", "=="):
            most = min(most, version - (operator == "<"))
    return Opsets(least, most)


def _bounds(conditions: Iterable[Expr], pack: Pack) -> Iterator[tuple[str, int]]:
    """Every ``opset OPERATOR version`` that must hold."""
    for condition in conditions:
        match condition:
            case Logical("and"):
                yield from _bounds(condition.operands, pack)
            case Call(function) if function in pack.guards:
                yield from _bounds(pack.guards[function].conditions, pack)
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
