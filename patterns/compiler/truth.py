"""Conditions of rules as Python.  A condition holds, fails, or is not known: then neither is true.

Kleene's logic: ``not`` is pushed inward, where it exchanges "holds" and "fails".  A condition that
names an absent optional capture holds, and so does its negation; only ``present`` asks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics import failure
from ..syntax import Call, Compare, Conditional, Expr, Field, Literal, Logical, Member, Name, Unary
from .alternatives import ops_of
from .calls import Calls, set_of
from .code import Code, Kind, is_simple
from .flat import (
    AttributeOf,
    Computed,
    FlatChain,
    FlatNode,
    FlatValue,
    NotThere,
    Scope,
)
from .references import binding_of, bindings_in

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = (Kind.INT, Kind.LITERAL)


class Truth(Calls):
    """Writes conditions."""

    def holds(self, expression: Expr, scope: Scope, strict: bool) -> str:
        return self._truth(expression, scope, strict, True)

    def fails(self, expression: Expr, scope: Scope, strict: bool) -> str:
        return self._truth(expression, scope, strict, False)

    def _truth(self, expression: Expr, scope: Scope, strict: bool, positive: bool) -> str:
        match expression:
            case Logical(word, operands):
                pairs = [(operand, scope) for operand in operands]
                return self._joined(pairs, (word == "and") == positive, strict, positive)
            case Unary("not", operand):
                return self._truth(operand, scope, strict, not positive)
            case Call(function=name) if name in self.helpers.pack.guards:
                return self._joined(self.guard(expression, scope), positive, strict, positive)
            case Call(function="present"):
                return _negated(self._present(expression, scope), positive)
            case Literal(value=bool(value)):
                return str(value is positive)
            case _:
                return self._single(expression, scope, strict, positive)

    def _joined(
        self, pairs: Sequence[tuple[Expr, Scope]], every: bool, strict: bool, positive: bool
    ) -> str:
        """``every``: all must be true, else one."""
        neutral, decisive = ("True", "False") if every else ("False", "True")
        texts: list[str] = []
        for expression, scope in pairs:
            text = self._truth(expression, scope, strict and not texts, positive)
            if text == decisive:
                return decisive
            if text != neutral:
                texts.append(text)
        if not texts:
            return neutral
        return texts[0] if len(texts) == 1 else f"({(' and ' if every else ' or ').join(texts)})"

    def _single(self, expression: Expr, scope: Scope, strict: bool, positive: bool) -> str:
        """A condition without ``and``, ``or`` and ``not``."""
        absent: list[str] = []
        if isinstance(expression, Conditional):
            return self._choice(expression, scope, strict, positive)
        for found in bindings_in(expression, scope, self.flat, self.helpers.pack):
            if isinstance(found, NotThere) or (isinstance(found, Computed) and found.absent):
                return "True"
            if isinstance(found, AttributeOf) and found.optional and found.part_of is None:
                absent.append(f"attr({self.at(found.node)}, {found.attribute!r}) is None")
        text = self._atom(expression, scope, strict and not absent, positive)
        if not absent or text in ("True", "False"):
            return text
        return f"({' or '.join(dict.fromkeys(absent))} or {text})"

    def _choice(self, expression: Conditional, scope: Scope, strict: bool, positive: bool) -> str:
        holds = self.holds(expression.condition, scope, strict)
        fails = self.fails(expression.condition, scope, False)
        if holds == "True":
            return self._truth(expression.then, scope, strict, positive)
        if fails == "True":
            return self._truth(expression.otherwise, scope, strict, positive)
        then = self._truth(expression.then, scope, False, positive)
        otherwise = self._truth(expression.otherwise, scope, False, positive)
        return f"({then} if {holds} else {fails} and {otherwise})"

    def _present(self, expression: Call, scope: Scope) -> str:
        """Whether an optional capture is there: never unknown."""
        if len(expression.arguments) != 1:
            raise failure("present takes one capture", expression.span)
        found = binding_of(expression.arguments[0], scope, self.flat)
        match found:
            case NotThere():
                return "False"
            case AttributeOf():
                return f"(attr({self.at(found.node)}, {found.attribute!r}) is not None)"
            case FlatChain():
                return f"(len({self.at(found)}) > 0)"
            case Computed():
                return "False" if found.absent else f"(let_{found.name} is not None)"
            case FlatValue():
                optional = found.name.endswith(".zero_point")
                return f"({self.at(found)} is not None)" if optional else "True"
            case None:
                part = expression.arguments[0]
                if isinstance(part, Field) and binding_of(part.base, scope, self.flat) is not None:
                    return "False"  # a part that this variant does not bind
                raise failure("present asks for a capture", expression.span)
            case _:
                return "True"

    # -- comparisons

    def _atom(self, expression: Expr, scope: Scope, strict: bool, positive: bool) -> str:
        match expression:
            case Compare():
                return self._compare(expression, scope, strict, positive)
            case Member():
                return self._member(expression, scope, strict, positive)
            case _:
                code = self.value(expression, scope, strict)
                if code.kind is Kind.LITERAL:
                    return str(code.value is positive)
                return (
                    code.text
                    if positive and code.kind is Kind.BOOL
                    else f"({code.text} is {positive})"
                )

    def _compare(self, expression: Compare, scope: Scope, strict: bool, positive: bool) -> str:
        left = expression.first
        texts: list[str] = []
        for word, right in expression.rest:
            text = self._pair(left, word, right, scope, strict and not texts, positive)
            if text == str(not positive):
                if positive:
                    return "False"
            elif text == "True" and not positive:
                return "True"
            else:
                texts.append(text)
            left = right
        if len(texts) == 1:
            return texts[0]
        return f"({(' and ' if positive else ' or ').join(texts)})" if texts else str(not positive)

    def _pair(
        self, left: Expr, word: str, right: Expr, scope: Scope, strict: bool, positive: bool
    ) -> str:
        named = self._op_comparison(left, word, right, scope, positive)
        if named is not None:
            return named
        a, b = self.value(left, scope, strict), self.value(right, scope, strict)
        return self.comparison(a, word, b, positive, strict)

    def _op_comparison(
        self, left: Expr, word: str, right: Expr, scope: Scope, positive: bool
    ) -> str | None:
        """``op == Conv``"""
        for node, name in ((left, right), (right, left)):
            found = binding_of(node, scope, self.flat)
            if not isinstance(found, FlatNode) or not isinstance(name, Name):
                continue
            if scope.find(name.id) is None and word in ("==", "!="):
                return f"{self.at(found)}.op {word if positive else _NEGATED[word]} {name.id!r}"
        return None

    def comparison(self, a: Code, word: str, b: Code, positive: bool, strict: bool = False) -> str:
        """Whether two values compare so (positive) or are known not to."""
        if _is_literal(a) and _is_literal(b):
            return str(_folded(a.value, word, b.value) is positive)
        if _is_none(b) or _is_none(a):
            tested = a if _is_none(b) else b
            return f"({tested.text} {'is' if (word == '==') is positive else 'is not'} None)"
        if Kind.TUPLE in (a.kind, b.kind) and len(a.elements) == len(b.elements) > 0:
            return self._tuples(a, word, b, positive)
        if Kind.TYPE in (a.kind, b.kind):
            return _types(a, word if positive else _NEGATED[word], b)
        if a.kind in _NUMBERS and b.kind in _NUMBERS:
            return self._numbers(a, word if positive else _NEGATED[word], b)
        return self._tensors(a, word, b, positive, strict)

    def same_axis(self, tensor: FlatValue, a: Code, b: Code) -> str:
        """Whether two attributes that state the axis of one tensor agree."""
        scale = self.flat.part(tensor, "scale")
        where = self.at(scale) if isinstance(scale, FlatValue) else "None"
        return f"same_axis({where}, {a.text}, {b.text})"

    def _tuples(self, a: Code, word: str, b: Code, positive: bool) -> str:
        """Equal where all elements are."""
        every = (word == "==") is positive
        texts = [
            self.comparison(x, "==", y, every) for x, y in zip(a.elements, b.elements, strict=True)
        ]
        decisive = "False" if every else "True"
        if decisive in texts:
            return decisive
        texts = [text for text in texts if text != str(every)]
        return f"({(' and ' if every else ' or ').join(texts)})" if texts else str(every)

    def _numbers(self, a: Code, word: str, b: Code) -> str:
        known: list[str] = []
        texts: list[str] = []
        for code in (a, b):
            if code.kind is Kind.LITERAL:
                texts.append(code.text)
            else:
                first, again = self.twice(code)
                known.append(f"{first} is not None")
                texts.append(again)
        return f"({' and '.join(known)} and {texts[0]} {word} {texts[1]})"

    def _tensors(self, a: Code, word: str, b: Code, positive: bool, strict: bool) -> str:
        if word in ("==", "!="):
            text = self._equal(a, b)
            return text if (word == "==") is positive else f"({text} is False)"
        a, b = self.number(a, strict), self.number(b, strict)
        if word in (">", ">="):
            a, b, word = b, a, word.replace(">", "<")
        texts = [self.text(a), self.text(b)]
        text = f"{'lt' if word == '<' else 'le'}({', '.join(texts)})"
        tested = [each for each in (a, b) if each.kind is not Kind.LITERAL]
        if len(tested) == 1 and is_simple(tested[0].text):
            return _quick(tested[0].text, f"{texts[0]} {word} {texts[1]}", text, positive)
        return text if positive else f"({text} is False)"

    def _equal(self, a: Code, b: Code) -> str:
        for one, other in ((a, b), (b, a)):
            if one.kind is Kind.ZERO_POINT and isinstance(other.value, int):
                return f"zero_point_is({one.text}, {other.text})"
        return f"eq({self.text(a)}, {self.text(b)})"

    # -- membership

    def _member(self, expression: Member, scope: Scope, strict: bool, positive: bool) -> str:
        choices, inside = expression.choices, expression.negated is not positive
        found = binding_of(expression.operand, scope, self.flat)
        if isinstance(found, FlatNode | FlatChain):
            return self._in_ops(found, choices, scope, inside, expression)
        if isinstance(choices, str):
            raise failure(f'only nodes are in an op set as "{choices}"', expression.span)
        operand = self.value(expression.operand, scope, strict)
        codes = [self.value(choice, scope) for choice in choices]
        if operand.kind is Kind.TYPE and all(_is_literal(each) for each in codes):
            numbers = "{" + ", ".join(sorted({str(each.value) for each in codes}, key=int)) + "}"
            return f"{operand.text} in {numbers}" if inside else _not_in(operand.text, numbers)
        texts = [self.comparison(operand, "==", each, inside) for each in codes]
        decisive = "True" if inside else "False"
        if decisive in texts:
            return decisive
        texts = [text for text in texts if text != ("False" if inside else "True")]
        if not texts:
            return str(not inside)
        return f"({(' or ' if inside else ' and ').join(texts)})"

    def _in_ops(
        self,
        found: FlatNode | FlatChain,
        choices: tuple[Expr, ...] | str,
        scope: Scope,
        inside: bool,
        expression: Member,
    ) -> str:
        pack = self.helpers.pack
        if isinstance(choices, str):
            if choices not in pack.op_sets:
                raise failure(f'there is no op set "{choices}"', expression.span)
            names = [op for each in pack.op_sets[choices].ops for op in ops_of(each, pack)]
        else:
            names = [each.id for each in choices if isinstance(each, Name)]
        word = "in" if inside else "not in"
        if isinstance(found, FlatNode):
            return f"{self.at(found)}.op {word} {set_of(names)}"
        return f"all([each.op {word} {set_of(names)} for each in {self.at(found)}])"


def _quick(text: str, on_float: str, general: str, positive: bool) -> str:
    """A comparison with a number, which most often is that of a float."""
    if not positive:
        on_float, general = f"not {on_float}", f"{general} is False"
    return f"({on_float} if {text}.__class__ is float else {general})"


def _negated(text: str, positive: bool) -> str:
    if positive:
        return text
    return str(text == "False") if text in ("True", "False") else f"(not {text})"


def _is_literal(code: Code) -> bool:
    return code.kind is Kind.LITERAL or (code.kind is Kind.TYPE and code.value is not None)


def _is_none(code: Code) -> bool:
    return code.kind is Kind.LITERAL and code.value is None


def _folded(a: Any, word: str, b: Any) -> bool | None:
    try:
        return bool(_COMPARE[word](a, b))
    except TypeError:
        return None


def _types(a: Code, word: str, b: Code) -> str:
    """0 is an unknown type, equal to none and different from none."""
    if _is_literal(a):
        a, b = b, a
    if _is_literal(b):
        if word == "==":
            return f"{a.text} == {b.text}"
        return _not_in(a.text, f"{{{b.text}}}")
    # In one order, so that equal tests have equal text.
    first, second = sorted((a.text, b.text))
    return f"0 != {first} == {second}" if word == "==" else f"0 != {first} != {second} != 0"


def _not_in(text: str, numbers: str) -> str:
    return f"{text} not in {{0, {numbers[1:]}"
