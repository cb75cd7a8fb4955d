"""Evaluates expressions of a rule where a match stopped, with the compiler's own words for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from ..compiler.code import Kind
from ..compiler.flat import Argument, Condition, Flat, FlatValue, NotThere, Scope
from ..compiler.places import Places
from ..compiler.references import binding_of, operands_of
from ..compiler.truth import Truth
from ..syntax import Call, Expr, Field, Name
from .interpreter import Environment, Interpreter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A capture or a part of one that an expression reads."""

    expression: Name | Field
    scope: Scope


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, and what kind of thing the compiler takes it for."""

    kind: Kind
    value: Any


class Reader:
    """Reads the captures of one pattern; of lists one element at a time."""

    def __init__(
        self, flat: Flat, places: Places, interpreter: Interpreter, environment: Environment
    ) -> None:
        self.flat = flat
        self.pack = interpreter.helpers.pack
        self.environment = environment
        self._interpreter = interpreter
        self._writer = Truth(flat, interpreter.helpers, places, None, scalars=False)
        self._element = 0

    # -- conditions

    def holds(self, expression: Expr, scope: Scope) -> bool:
        return self._is_true(self._writer.holds(expression, scope, False))

    def fails(self, expression: Expr, scope: Scope) -> bool:
        """It is known not to hold."""
        return self._is_true(self._writer.fails(expression, scope, False))

    def attribute_holds(self, condition: Condition) -> bool:
        assert condition.attribute is not None
        wanted = self._writer.value(condition.expression, condition.scope, False)
        found = self._writer.attribute(condition.attribute, False)
        return self._is_true(self._writer.comparison(found, "==", wanted, True))

    def go_to_failure(self, condition: Condition) -> int | None:
        """Look at the first element of the lists at which a condition fails; None without lists."""
        check: Callable[[], bool]
        if condition.attribute is not None:
            check = _of(self.attribute_holds, condition)
        else:
            check = _of(self.holds, condition.expression, condition.scope)
        self._element = 0
        failed = not check()
        if not self._writer.lists:
            return None
        while not failed and self._element + 1 < self._length():
            self._element += 1
            failed = not check()
        return self._element

    # -- values

    def value(self, expression: Expr, scope: Scope) -> Reading:
        """What an expression yields; None where it is not known."""
        code = self._writer.value(expression, scope)
        text = self._writer.text(code)
        return Reading(code.kind, self._evaluate(text))

    def attribute(self, condition: Condition) -> Any:
        assert condition.attribute is not None
        return self._evaluate(self._writer.attribute(condition.attribute, False).text)

    def leaves(self, expression: Expr, scope: Scope) -> Iterator[Leaf]:
        """What an expression reads of the graph and of the pack's options, each once."""
        seen: set[tuple[str, ...]] = set()
        for leaf in self._leaves(expression, scope):
            key = _key(leaf.expression)
            if key not in seen:
                seen.add(key)
                yield leaf

    def _leaves(self, expression: Expr, scope: Scope) -> Iterator[Leaf]:
        match expression:
            case Name(name):
                found = scope.find(name)
                if isinstance(found, Argument):
                    yield from self._leaves(found.expression, found.scope)
                elif (found is not None and not isinstance(found, NotThere)) or name == "opset":
                    yield Leaf(expression, scope)
            case Field(base=base):
                while isinstance(base, Name) and isinstance(found := scope.find(base.id), Argument):
                    base, scope = found.expression, found.scope
                if isinstance(base, Name):
                    yield Leaf(Field(base, expression.name, expression.span), scope)
                else:
                    yield from self._leaves(base, scope)
            case _:
                if isinstance(expression, Call) and expression.function == "opset":
                    return
                for operand in operands_of(expression):
                    yield from self._leaves(operand, scope)

    def captured(self, expression: Expr, scope: Scope) -> Any:
        """The graph's value that a name stands for; None if it stands for something else."""
        found = binding_of(expression, scope, self.flat)
        return self.value(expression, scope).value if isinstance(found, FlatValue) else None

    # -- evaluating

    def _is_true(self, text: str) -> bool:
        return text == "True" or bool(self._evaluate(text))

    def _length(self) -> int:
        lists = [self._interpreter.value(text, self.environment) for text in self._writer.lists]
        return min(len(each) for each in lists)

    def _evaluate(self, text: str) -> Any:
        for listed, variable in self._writer.lists.items():
            found = self._interpreter.value(listed, self.environment)
            self.environment[variable] = found[self._element]
        return self._interpreter.value(text, self.environment)


def _of(function: Callable[..., T], *arguments: Any) -> Callable[[], T]:
    return lambda: function(*arguments)


def _key(expression: Expr) -> tuple[str, ...]:
    if isinstance(expression, Field):
        return (*_key(expression.base), expression.name)
    return (expression.id,) if isinstance(expression, Name) else ()
