"""Expressions of rules as Python: what has a value.

What is not known is None, and a condition on it fails.  Where ``strict`` holds the expression is
evaluated in any case, so that it may be given a variable that other rules share.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from qrewrite.engine.dtypes import NUMBERS

from ..diagnostics import did_you_mean, failure
from ..functions.arithmetic import OPERATORS
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
    Span,
    Unary,
    With,
)
from .code import UNKNOWN, Code, Kind, is_simple, literal
from .flat import (
    Argument,
    AttributeOf,
    Binding,
    Computed,
    Flat,
    FlatChain,
    FlatNode,
    FlatValue,
    NotThere,
    OperandsOf,
    Scope,
)
from .helpers import Helpers
from .places import Places, Thing
from .references import binding_of
from .steps import Steps

_FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_NUMBERS = (Kind.INT, Kind.LITERAL)


class Expressions:
    """Writes expressions over one flat pattern; ``steps`` gets the variables, if there are any."""

    def __init__(
        self,
        flat: Flat,
        helpers: Helpers,
        places: Places,
        steps: Steps | None = None,
        scalars: bool = True,
    ) -> None:
        self.flat = flat
        self.helpers = helpers
        self.places = places
        self.steps = steps
        self.scalars = scalars
        """Constants of one element may be computed as Python floats: not what a ``let`` binds."""
        self.lists: dict[str, str] = {}
        """Lists that are gone through, and the variable of the element of each."""

    # -- to be written elsewhere

    def call(self, expression: Call, scope: Scope, strict: bool) -> Code:
        raise NotImplementedError

    def holds(self, expression: Expr, scope: Scope, strict: bool) -> str:
        """True exactly where a condition is known to hold."""
        raise NotImplementedError

    def fails(self, expression: Expr, scope: Scope, strict: bool) -> str:
        """True exactly where a condition is known not to hold."""
        raise NotImplementedError

    # -- values

    def value(self, expression: Expr, scope: Scope, strict: bool = False) -> Code:
        match expression:
            case Literal(value):
                return literal(value)
            case Name():
                return self._name(expression, scope, strict)
            case Field():
                return self._field(expression, scope, strict)
            case Call():
                return self.call(expression, scope, strict)
            case Unary("-", operand):
                return self._negative(operand, scope, strict)
            case Binary():
                return self._binary(expression, scope, strict)
            case Index(base, index):
                texts = [self.plain(each, scope, strict) for each in (base, index)]
                return self.kept(Code(f"index({', '.join(texts)})", Kind.ANY), strict)
            case With(base, fields):
                return self._with(base, fields, scope, strict)
            case Conditional():
                return self._conditional(expression, scope, strict)
            case ListOf(elements):
                codes = tuple(self.value(each, scope, strict) for each in elements)
                texts = [self.text(each) for each in codes]
                return Code(f"({''.join(f'{text}, ' for text in texts)})", Kind.TUPLE, None, codes)
            case Compare() | Member() | Logical() | Unary():
                return self.truth(expression, scope)

    def truth(self, expression: Expr, scope: Scope) -> Code:
        """A condition as a value: True, False or None."""
        holds, fails = self.holds(expression, scope, False), self.fails(expression, scope, False)
        if holds == "True" or fails == "True":
            return literal(holds == "True")
        return Code(f"(True if {holds} else False if {fails} else None)", Kind.BOOL)

    def plain(self, expression: Expr, scope: Scope, strict: bool = False) -> str:
        """The text of a value that any function of the arithmetic takes."""
        return self.text(self.value(expression, scope, strict))

    def text(self, code: Code) -> str:
        if code.kind is Kind.ZERO_POINT:
            return f"(0 if {code.text} is None else {code.text})"
        if code.kind is Kind.TYPE and code.value is None:
            return f"({code.text} or None)"
        return code.text

    def kept(self, code: Code, strict: bool) -> Code:
        """The same in a variable, where that can be shared."""
        if self.steps is None or is_simple(code.text):
            return code
        name = self.helpers.temporary(code.text)
        if strict:
            self.steps.bind(name, code.text)
        elif name not in self.steps.bound:
            return code
        return Code(name, code.kind, code.value, code.elements, code.data, code.scale)

    def twice(self, code: Code) -> tuple[str, str]:
        """Texts for the first and every further use in one condition."""
        if is_simple(code.text):
            return code.text, code.text
        name = self.helpers.temporary(code.text)
        return f"({name} := {code.text})", name

    # -- names

    def at(self, thing: Thing) -> str:
        """Where a node or value is; of a list the element that is looked at."""
        text = self.places.at(thing)
        if isinstance(thing, FlatValue | FlatNode) and thing.each is not None:
            return self.lists.setdefault(text, f"e{len(self.lists)}")
        return text

    def _name(self, name: Name, scope: Scope, strict: bool) -> Code:
        found = scope.find(name.id)
        if isinstance(found, Argument):
            return self.value(found.expression, found.scope, strict)
        if found is not None:
            return self.of_binding(found, name.span, strict)
        if name.id in NUMBERS:
            return Code(str(NUMBERS[name.id]), Kind.TYPE, NUMBERS[name.id])
        if name.id == "opset":
            return self.opset("", strict)
        raise failure(f'"{name.id}" is not bound', name.span, did_you_mean(name.id, scope.names))

    def opset(self, domain: str, strict: bool) -> Code:
        text = f"{self.places.anchor()}.graph.model.opsets.get({domain!r})"
        return self.kept(Code(text, Kind.INT), strict)

    def of_binding(self, found: Binding, span: Span, strict: bool) -> Code:
        match found:
            case FlatValue():
                return Code(self.at(found), Kind.VALUE)
            case FlatNode():
                return Code(self.at(found), Kind.NODE)
            case FlatChain():
                return Code(self.at(found), Kind.NODES)
            case AttributeOf():
                return self.attribute(found, strict)
            case OperandsOf(node, first):
                return Code(f"tuple({self.at(node)}.inputs[{first}:])", Kind.ANY)
            case Computed():
                return self._computed(found)
            case NotThere():
                return UNKNOWN
            case _:
                raise failure("a set of attributes has no value", span)

    def _computed(self, found: Computed) -> Code:
        if found.absent:
            return UNKNOWN
        text = f"let_{found.name}"
        if found.each is not None:
            text = self.lists.setdefault(text, f"e{len(self.lists)}")
        return Code(text, Kind.ANY)

    def attribute(self, found: AttributeOf, strict: bool) -> Code:
        node = self.at(found.node)
        if found.part_of is None:
            return self.kept(Code(f"attr({node}, {found.attribute!r})", Kind.ANY), strict)
        if found.attribute == "axis":
            scale = self.flat.part(found.part_of, "scale")
            where = "None" if not isinstance(scale, FlatValue) else self.at(scale)
            text = f"quantized_axis({node}, 'axis', {where}, {self.at(found.part_of)})"
            return self.kept(Code(text, Kind.INT), strict)
        # Ops that lack block_size or output_dtype have none: 0 in those that have them.
        text = f"({node}.attributes and attr({node}, {found.attribute!r}) or 0)"
        return self.kept(Code(text, Kind.INT), strict)

    # -- parts

    def _field(self, expression: Field, scope: Scope, strict: bool) -> Code:
        base, part = expression.base, expression.name
        if isinstance(base, Name) and base.id == "options" and scope.find("options") is None:
            return self._option(expression)
        found = binding_of(base, scope, self.flat)
        match found:
            case FlatValue():
                return self.part(found, part, expression.span, strict)
            case FlatNode():
                return self._attribute_of(found, part, strict)
            case NotThere():
                return UNKNOWN
            case _:
                return Code(f"part({self.plain(base, scope, strict)}, {part!r})", Kind.ANY)

    def _option(self, expression: Field) -> Code:
        options = self.helpers.options
        if expression.name not in options:
            note = did_you_mean(expression.name, options)
            raise failure(f'the pack has no option "{expression.name}"', expression.span, note)
        return literal(options[expression.name])

    def part(self, value: FlatValue, part: str, span: Span, strict: bool) -> Code:
        if part == "type":
            place = self.at(value)
            return self.kept(Code(f"({place}.dtype or kind_of({place}))", Kind.TYPE), strict)
        found = self.flat.part(value, part)
        if isinstance(found, AttributeOf):
            return self.attribute(found, strict)
        if isinstance(found, NotThere):
            return UNKNOWN
        if found is None and part in ("axis", "block_size", "output_dtype"):
            return literal(None if part == "axis" else 0)
        if found is None:
            raise failure(f'"{value.name}" has no {part}', span, "parts are given by DQ and Q")
        if part != "zero_point":
            return Code(self.at(found), Kind.VALUE)
        scale = self.flat.part(value, "scale")
        where = self.at(scale) if isinstance(scale, FlatValue) else "None"
        return Code(self.at(found), Kind.ZERO_POINT, None, (), self.at(value), where)

    def _attribute_of(self, node: FlatNode, name: str, strict: bool) -> Code:
        place = self.at(node)
        if name == "name":
            return Code(f"op_name({place})", Kind.ANY)
        if name == "version":
            return self.kept(Code(f"op_version({place})", Kind.INT), strict)
        return self.kept(Code(f"attr({place}, {name!r})", Kind.ANY), strict)

    # -- operators

    def _negative(self, operand: Expr, scope: Scope, strict: bool) -> Code:
        code = self.value(operand, scope, strict)
        if code.kind is Kind.LITERAL and isinstance(code.value, int | float):
            return literal(-code.value)
        return self.kept(Code(f"neg({self.text(code)})", Kind.ANY), strict)

    def _binary(self, expression: Binary, scope: Scope, strict: bool) -> Code:
        left = self.value(expression.left, scope, strict)
        right = self.value(expression.right, scope, strict)
        if left.kind is right.kind is Kind.LITERAL:
            try:
                return literal(_FOLDED[expression.operator](left.value, right.value))
            except (TypeError, ZeroDivisionError, OverflowError):
                raise failure("this cannot be computed", expression.span) from None
        if left.kind in _NUMBERS and right.kind in _NUMBERS:
            return self._of_numbers(expression.operator, left, right, strict)
        function = OPERATORS[expression.operator]
        if self.scalars and function in ("add", "sub", "mul", "div"):
            function = f"float_{function}"
            left, right = self.number(left, strict), self.number(right, strict)
        text = f"{function}({self.text(left)}, {self.text(right)})"
        return self.kept(Code(text, Kind.ANY), strict)

    def _of_numbers(self, word: str, left: Code, right: Code, strict: bool) -> Code:
        """Numbers of Python, such as ranks and dimensions."""
        known = [each for each in (left, right) if each.kind is Kind.INT]
        kept = [self.kept(each, strict) for each in (left, right)]
        if not all(is_simple(each.text) or each.kind is Kind.LITERAL for each in kept):
            function = OPERATORS[word]
            return Code(f"{function}({left.text}, {right.text})", Kind.INT)
        tests = [f"{each.text} is None" for each in kept if each.kind is Kind.INT]
        if word in ("/", "//", "%") and right.kind is not Kind.LITERAL:
            tests.append(f"{kept[1].text} == 0")
        assert known
        text = f"(None if {' or '.join(tests)} else {kept[0].text} {word} {kept[1].text})"
        return self.kept(Code(text, Kind.INT), strict)

    def number(self, code: Code, strict: bool) -> Code:
        """A value of the graph as one Python number, where it is one."""
        if code.kind is Kind.VALUE:
            return self.kept(Code(f"number({code.text})", Kind.ANY), strict)
        return code

    def _with(
        self, base: Expr, fields: tuple[tuple[str, Expr], ...], scope: Scope, strict: bool
    ) -> Code:
        changed = [f"{name}={self.operand_text(value, scope)}" for name, value in fields]
        whole = self.quantized(base, scope, strict)
        return Code(f"with_parts({', '.join([whole, *changed])})", Kind.ANY)

    def operand_text(self, expression: Expr, scope: Scope) -> str:
        """A value that may become a part of a quantized tensor."""
        code = self.value(expression, scope)
        if code.kind is Kind.ZERO_POINT:
            return f"zero_point_of({code.text}, {code.data}, {code.scale})"
        return self.text(code)

    def quantized(self, expression: Expr, scope: Scope, strict: bool) -> str:
        """A tensor with its parts."""
        found = binding_of(expression, scope, self.flat)
        if not isinstance(found, FlatValue):
            return self.plain(expression, scope, strict)
        scale = self.flat.part(found, "scale")
        if not isinstance(scale, FlatValue):
            return self.at(found)
        zero_point = self.flat.part(found, "zero_point")
        texts = [self.at(found), self.at(scale)]
        texts.append(self.at(zero_point) if isinstance(zero_point, FlatValue) else "None")
        for part in ("axis", "block_size"):
            texts.append(self.part(found, part, expression.span, strict).text)
        return f"Quantized({', '.join(texts)})"

    def _conditional(self, expression: Conditional, scope: Scope, strict: bool) -> Code:
        holds = self.holds(expression.condition, scope, strict)
        fails = self.fails(expression.condition, scope, False)
        if holds == "True" or fails == "True":
            chosen = expression.then if holds == "True" else expression.otherwise
            return self.value(chosen, scope, strict)
        then = self.operand_text(expression.then, scope)
        otherwise = self.operand_text(expression.otherwise, scope)
        return Code(f"({then} if {holds} else {otherwise} if {fails} else None)", Kind.ANY)
