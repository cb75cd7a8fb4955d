"""Conditions and values: every name bound, every call right, every operand of a fitting kind."""

from __future__ import annotations

from collections.abc import Iterable

from qrewrite.engine.dtypes import NUMBERS

from ..diagnostics import did_you_mean
from ..packs.pack import Pack
from ..syntax import (
    Binary,
    Call,
    Compare,
    Conditional,
    Expr,
    Field,
    Index,
    ListOf,
    Literal,
    Logical,
    Member,
    Name,
    Unary,
    With,
)
from .calls import Calls
from .report import Report
from .scope import PARTS, Kind, Meaning, Scope
from .signatures import Signatures

NUMERIC = (Kind.NUMBER, Kind.TENSOR)
ORDERED = ("<", "<=", ">", ">=")


class Expressions:
    """Checks expressions of one pack; each mistake is reported once."""

    def __init__(self, pack: Pack, report: Report, signatures: Signatures) -> None:
        self._pack = pack
        self._report = report
        self._signatures = signatures
        self._calls = Calls(pack, report)

    def condition(self, expression: Expr, scope: Scope) -> None:
        """A condition of ``where`` or of a guard must be true or false."""
        kind = self.kind(expression, scope)
        if kind not in (Kind.BOOL, Kind.ANY):
            self._report.error(
                expression.span, f"a condition must be true or false, but this is {kind.value}"
            )

    def kind(self, expression: Expr, scope: Scope) -> Kind:
        """What an expression is; ANY where it is wrong or not known."""
        match expression:
            case Name():
                return self._name(expression, scope)
            case Literal():
                return _literal(expression)
            case Field():
                return self._field(expression, scope)
            case Index():
                return self._index(expression, scope)
            case Call():
                return self._calls.check(expression, scope, self)
            case With():
                return self._with(expression, scope)
            case Unary():
                return self._unary(expression, scope)
            case Binary():
                return self._binary(expression, scope)
            case Compare():
                return self._compare(expression, scope)
            case Member():
                return self._member(expression, scope)
            case Logical():
                for operand in expression.operands:
                    self._expect_bool(operand, scope, f'"{expression.operator}"')
                return Kind.BOOL
            case Conditional():
                return self._conditional(expression, scope)
            case ListOf():
                for element in expression.elements:
                    self.kind(element, scope)
                return Kind.LIST

    # -- names and parts

    def _name(self, name: Name, scope: Scope) -> Kind:
        meaning = scope.names.get(name.id)
        if meaning is not None:
            scope.used.add(name.id)
            return meaning.kind
        if name.id in NUMBERS:
            return Kind.TYPE
        if name.id == "opset":
            return Kind.NUMBER
        self._unbound(name, scope)
        return Kind.ANY

    def _unbound(self, name: Name, scope: Scope) -> None:
        if name.id in scope.unknown:
            return
        scope.unknown.add(name.id)
        if name.id in scope.later:
            line = scope.later[name.id].span.line
            message = f'"{name.id}" is used before the let in line {line} computes it'
            self._report.error(name.span, message)
        elif name.id in scope.hidden:
            where = scope.hidden[name.id]
            message = f'"{name.id}" is bound inside `{where}`, where nothing outside can read it'
            self._report.error(name.span, message)
        elif name.id == "options":
            self._report.error(
                name.span, "`options` is not a value", "an option is read as options.NAME"
            )
        else:
            known = [*scope.names, *scope.later, *NUMBERS]
            self._report.error(name.span, f'"{name.id}" is not bound', did_you_mean(name.id, known))

    def _field(self, expression: Field, scope: Scope) -> Kind:
        base = expression.base
        if isinstance(base, Name) and base.id == "options" and base.id not in scope.names:
            return self._option(expression)
        kind = self.kind(base, scope)
        if isinstance(base, Name) and base.id in scope.unknown:
            return Kind.ANY
        meaning = scope.names.get(base.id) if isinstance(base, Name) else None
        if kind is Kind.NODE:
            return self._attribute_of(expression, meaning)
        if kind in (Kind.TENSOR, Kind.ANY):
            return self._part(expression, scope)
        message = f'{kind.value} has no part "{expression.name}"'
        self._report.error(expression.span, message, "parts are those of captured tensors")
        return Kind.ANY

    def _option(self, expression: Field) -> Kind:
        option = self._pack.options.get(expression.name)
        if option is None:
            note = did_you_mean(expression.name, self._pack.options)
            message = f'the pack has no option "{expression.name}"'
            self._report.error(expression.span, message, note)
            return Kind.ANY
        return _kind_of_value(option.default)

    def _attribute_of(self, expression: Field, meaning: Meaning | None) -> Kind:
        if expression.name in ("name", "version"):
            return Kind.TEXT if expression.name == "name" else Kind.NUMBER
        node = None if meaning is None else meaning.node
        if node is None:
            return Kind.ANY
        known = self._signatures.of_node(node)
        if not known or any(expression.name in each.attributes for each in known):
            return Kind.ANY
        names = [name for each in known for name in each.attributes]
        message = f'{known[0].op} has no attribute "{expression.name}"'
        self._report.error(expression.span, message, did_you_mean(expression.name, names))
        return Kind.ANY

    def _part(self, expression: Field, scope: Scope) -> Kind:
        part = expression.name
        if part not in PARTS:
            message = f'a tensor has no part "{part}"'
            note = did_you_mean(part, PARTS) or f"the parts are {', '.join(PARTS)}"
            self._report.error(expression.span, message, note)
            return Kind.ANY
        if isinstance(expression.base, Name):
            self.needs_part(expression.base, part, scope)
        if part == "type":
            return Kind.TYPE
        return Kind.TENSOR if part in ("scale", "zero_point") else Kind.ANY

    def needs_part(self, base: Name, part: str, scope: Scope, reader: str = "") -> bool:
        """Report a part that nothing gives to a capture; ``reader``: what reads it."""
        meaning = scope.names.get(base.id)
        if part == "type" or meaning is None or meaning.parts is None or part in meaning.parts:
            return False
        because = f", which {reader} reads" if reader else ""
        note = "scale, zero_point and axis are parts of what stands under DQ or is made by Q"
        self._report.error(base.span, f'"{base.id}" has no {part}{because}', note)
        return True

    def meaning(self, expression: Expr, kind: Kind) -> Meaning:
        """What a name stands for that let gives this value."""
        return Meaning(kind, self._parts_of(expression, kind))

    def _parts_of(self, expression: Expr, kind: Kind) -> frozenset[str] | None:
        match expression:
            case With():
                return frozenset(PARTS)
            case Call():
                quantized = self._calls.makes_quantized(expression)
                if quantized is None:
                    return None
                return frozenset(PARTS) if quantized else frozenset()
            case Binary() | Compare():
                return frozenset() if kind is not Kind.ANY else None
            case _:
                return None

    # -- operators

    def _index(self, expression: Index, scope: Scope) -> Kind:
        base = self.kind(expression.base, scope)
        index = self.kind(expression.index, scope)
        if base not in (Kind.LIST, Kind.TENSOR, Kind.ANY):
            self._report.error(expression.span, f"{base.value} has no elements")
        if index not in (Kind.NUMBER, Kind.ANY):
            message = f"an index is a number, but this is {index.value}"
            self._report.error(expression.index.span, message)
        return Kind.ANY

    def _with(self, expression: With, scope: Scope) -> Kind:
        base = self.kind(expression.base, scope)
        if base not in (Kind.TENSOR, Kind.ANY):
            message = f"`with` changes parts of a tensor, but this is {base.value}"
            self._report.error(expression.base.span, message)
        for part, value in expression.fields:
            self.kind(value, scope)
            if part not in PARTS:
                message = f'a tensor has no part "{part}"'
                self._report.error(value.span, message, did_you_mean(part, PARTS))
        return Kind.TENSOR

    def _unary(self, expression: Unary, scope: Scope) -> Kind:
        if expression.operator == "not":
            self._expect_bool(expression.operand, scope, '"not"')
            return Kind.BOOL
        kind = self.kind(expression.operand, scope)
        if kind not in (*NUMERIC, Kind.ANY):
            self._report.error(expression.span, f'"-" cannot be applied to {kind.value}')
            return Kind.ANY
        return kind

    def _expect_bool(self, operand: Expr, scope: Scope, operator: str) -> None:
        kind = self.kind(operand, scope)
        if kind not in (Kind.BOOL, Kind.ANY):
            message = f"{operator} takes what is true or false, but this is {kind.value}"
            self._report.error(operand.span, message)

    def _binary(self, expression: Binary, scope: Scope) -> Kind:
        left, right = self.kind(expression.left, scope), self.kind(expression.right, scope)
        joins = expression.operator == "+" and Kind.LIST in (left, right)
        if joins and {left, right} <= {Kind.LIST, Kind.ANY, Kind.TENSOR}:
            return Kind.LIST
        for operand, kind in ((expression.left, left), (expression.right, right)):
            if kind not in (*NUMERIC, Kind.ANY):
                operator = expression.operator
                self._report.error(operand.span, f'"{operator}" cannot be applied to {kind.value}')
                return Kind.ANY
        if Kind.TENSOR in (left, right):
            return Kind.TENSOR
        return Kind.NUMBER if left is right is Kind.NUMBER else Kind.ANY

    def _compare(self, expression: Compare, scope: Scope) -> Kind:
        left_kind = self._operand(expression.first, Kind.ANY, scope)
        for operator, right in expression.rest:
            right_kind = self._operand(right, left_kind, scope)
            self._comparable(left_kind, right_kind, operator, right)
            left_kind = right_kind
        return Kind.BOOL

    def _operand(self, operand: Expr, other: Kind, scope: Scope) -> Kind:
        """Beside a node a bare name is the name of an op."""
        if other is Kind.NODE and isinstance(operand, Name) and operand.id not in scope.names:
            self._signatures.known_op(operand, self._report)
            return Kind.NODE
        return self.kind(operand, scope)

    def _comparable(self, left: Kind, right: Kind, operator: str, place: Expr) -> None:
        if Kind.ANY in (left, right):
            return
        if not _alike(left, right):
            message = f"{left.value} cannot be compared with {right.value}"
            note = (
                "element types are written u8, i8, f32, ..." if Kind.TYPE in (left, right) else ""
            )
            self._report.error(place.span, message, note)
        elif operator in ORDERED and left not in NUMERIC:
            self._report.error(place.span, f'"{operator}" cannot order {left.value}')

    def _member(self, expression: Member, scope: Scope) -> Kind:
        kind = self.kind(expression.operand, scope)
        choices = expression.choices
        if isinstance(choices, str):
            self._in_op_set(expression, choices, kind)
            return Kind.BOOL
        for choice in choices:
            self._comparable(kind, self._operand(choice, kind, scope), "==", choice)
        if isinstance(expression.operand, ListOf):
            self._tuples(expression.operand, choices, scope)
        return Kind.BOOL

    def _in_op_set(self, expression: Member, name: str, kind: Kind) -> None:
        if name not in self._pack.op_sets:
            note = did_you_mean(name, self._pack.op_sets)
            self._report.error(expression.span, f'there is no op set "{name}"', note)
        elif kind not in (Kind.NODE, Kind.ANY):
            message = f"an op set holds nodes, but this is {kind.value}"
            self._report.error(expression.operand.span, message)

    def _tuples(self, operand: ListOf, choices: Iterable[Expr], scope: Scope) -> None:
        quiet = Expressions(self._pack, Report(), self._signatures)
        kinds = [quiet.kind(element, scope) for element in operand.elements]
        for choice in choices:
            if not isinstance(choice, ListOf):
                continue
            if len(choice.elements) != len(kinds):
                message = (
                    f"expected {len(kinds)} elements as on the left, not {len(choice.elements)}"
                )
                self._report.error(choice.span, message)
                continue
            for kind, element in zip(kinds, choice.elements, strict=True):
                self._comparable(kind, quiet.kind(element, scope), "==", element)

    def _conditional(self, expression: Conditional, scope: Scope) -> Kind:
        self._expect_bool(expression.condition, scope, '"if"')
        then, otherwise = self.kind(expression.then, scope), self.kind(expression.otherwise, scope)
        return then if then is otherwise else Kind.ANY


def _literal(expression: Literal) -> Kind:
    return Kind.NONE if expression.value is None else _kind_of_value(expression.value)


def _kind_of_value(value: bool | int | float | str) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOL
    return Kind.TEXT if isinstance(value, str) else Kind.NUMBER


def _alike(left: Kind, right: Kind) -> bool:
    lists = (Kind.LIST, Kind.TENSOR)
    return (
        left is right
        or Kind.NONE in (left, right)
        or (left in NUMERIC and right in NUMERIC)
        or (left in lists and right in lists)
    )
