"""Calls in expressions: functions, per-op properties, functions of Python modules, ``opset``."""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnostics import did_you_mean, failure
from ..functions import Accepts, Function, Parameter, Result, functions
from ..syntax import Call, Expr, Field, Literal, OpName
from .alternatives import ops_of
from .code import Code, Kind
from .expressions import Expressions
from .flat import FlatNode, FlatValue, Scope
from .references import binding_of, guard_scope

_KINDS = {Result.BOOL: Kind.BOOL, Result.NUMBER: Kind.ANY, Result.TYPE: Kind.TYPE}
_WHOLE = frozenset({"rank", "dim", "size", "use_count"})
"""Functions whose result is an int."""


class Calls(Expressions):
    """Writes calls."""

    def call(self, expression: Call, scope: Scope, strict: bool) -> Code:
        name = expression.function
        pack = self.helpers.pack
        if name in pack.guards or name == "present":
            return self.truth(expression, scope)
        if name in pack.properties:
            return self._property(expression, scope, strict)
        if name == "opset":
            return self._opset(expression, strict)
        if name in pack.functions:
            texts = [self.tensor(each, scope, strict) for each in expression.arguments]
            return Code(f"{self.helpers.python(name)}({', '.join(texts)})", Kind.ANY)
        function = functions().get(name)
        if function is None:
            known = [*functions(), *pack.guards, *pack.properties, "present", "opset"]
            note = did_you_mean(name, known)
            raise failure(f'there is no function "{name}"', expression.span, note)
        return self._function(function, expression, scope, strict)

    def _opset(self, expression: Call, strict: bool) -> Code:
        match expression.arguments:
            case (Literal(value=str(domain)),):
                return self.opset("" if domain == "ai.onnx" else domain, strict)
            case _:
                raise failure("opset takes the name of a domain", expression.span)

    # -- functions

    def _function(self, function: Function, expression: Call, scope: Scope, strict: bool) -> Code:
        quick = self._quick(function.name, expression, scope)
        if quick is not None:
            return self.kept(quick, strict)
        if function.name == "close" and self.scalars:
            return self._close(expression, scope, strict)
        if function.name == "max" and self.scalars and _is_magnitude(expression):
            inner = expression.arguments[0]
            assert isinstance(inner, Call)
            text = self.plain(inner.arguments[0], scope, strict)
            return self.kept(Code(f"magnitude({text})", Kind.ANY), strict)
        texts = []
        for parameter, argument in matched(function, expression):
            if argument is None:
                texts.append(repr(parameter.default))
            else:
                texts.append(self._argument(parameter, argument, scope, strict))
        kind = Kind.INT if function.name in _WHOLE else _KINDS.get(function.result, Kind.ANY)
        return self.kept(Code(f"call_{function.name}({', '.join(texts)})", kind), strict)

    def _quick(self, name: str, expression: Call, scope: Scope) -> Code | None:
        """Questions that a value answers itself."""
        if not expression.arguments or expression.keywords:
            return None
        found = binding_of(expression.arguments[0], scope, self.flat)
        if not isinstance(found, FlatValue):
            return None
        if name == "per_tensor" and not isinstance(self.flat.part(found, "scale"), FlatValue):
            return None
        place = self.at(found) if name in _QUICK else ""
        match name:
            case "is_const" if _is_zero_point(expression.arguments[0]):
                # absent, it is the constant 0
                return Code(f"({place} is None or {place}.constant)", Kind.BOOL)
            case "is_const":
                return Code(f"{place}.constant", Kind.BOOL)
            case "is_output":
                return Code(f"{place}.is_output", Kind.BOOL)
            case "is_input":
                return Code(f"{place}.is_input", Kind.BOOL)
            case "use_count":
                return Code(f"len({place}.uses)", Kind.INT)
            case "rank" | "size":
                return Code(f"{name}({place})", Kind.INT)
            case "dim" if len(expression.arguments) == 2:
                position = self.value(expression.arguments[1], scope)
                simple = position.kind in (Kind.LITERAL, Kind.INT)
                text = position.text if simple else f"num({self.text(position)})"
                return Code(f"dim({place}, {text})", Kind.INT)
            case "per_tensor" if len(expression.arguments) == 1:
                scale = self._scale(expression.arguments[0], scope, False)
                return Code(f"single({scale})", Kind.BOOL)
            case _:
                return None

    def _close(self, expression: Call, scope: Scope, strict: bool) -> Code:
        texts = []
        for parameter, argument in matched(functions()["close"], expression):
            if argument is None:
                texts.append(repr(parameter.default))
            elif parameter.accepts is Accepts.TENSOR:
                texts.append(self.text(self.number(self.value(argument, scope, strict), strict)))
            else:
                texts.append(self._argument(parameter, argument, scope, strict))
        return self.kept(Code(f"close({', '.join(texts)})", Kind.BOOL), strict)

    def _argument(self, parameter: Parameter, argument: Expr, scope: Scope, strict: bool) -> str:
        match parameter.accepts:
            case Accepts.TENSOR:
                return self.tensor(argument, scope, strict)
            case Accepts.VALUE:
                return self.operand_text(argument, scope)
            case Accepts.SCALE:
                return self._scale(argument, scope, strict)
            case Accepts.QUANTIZED:
                return self.quantized(argument, scope, strict)
            case Accepts.NUMBER:
                code = self.value(argument, scope, strict)
                simple = code.kind in (Kind.LITERAL, Kind.INT)
                return code.text if simple else f"num({self.text(code)})"
            case Accepts.LIST:
                return self._list(argument, scope, strict)
            case Accepts.TYPE | Accepts.TEXT:
                return self.plain(argument, scope, strict)

    def tensor(self, argument: Expr, scope: Scope, strict: bool) -> str:
        """The content of a constant."""
        code = self.value(argument, scope, strict)
        if code.kind is Kind.ZERO_POINT:
            text = f"zero_point_of({code.text}, {code.data}, {code.scale})"
            return f"const({text})"
        if code.kind in (Kind.LITERAL, Kind.INT, Kind.TUPLE):
            return code.text
        if code.kind is Kind.VALUE:
            # Reading a large tensor is put off until it is needed.
            return f"const({code.text})"
        return f"const({self.text(code)})"

    def _scale(self, argument: Expr, scope: Scope, strict: bool) -> str:
        found = binding_of(argument, scope, self.flat)
        if not isinstance(found, FlatValue):
            return f"part({self.plain(argument, scope, strict)}, 'scale')"
        return self.part(found, "scale", argument.span, strict).text

    def _list(self, argument: Expr, scope: Scope, strict: bool) -> str:
        found = binding_of(argument, scope, self.flat)
        if isinstance(found, FlatValue) and found.each is not None:
            return f"each_const({self.places.at(found)})"
        code = self.value(argument, scope, strict)
        return (
            f"each_const({code.text})" if code.kind is Kind.TUPLE else f"const({self.text(code)})"
        )

    # -- properties

    def _property(self, expression: Call, scope: Scope, strict: bool) -> Code:
        declared = self.helpers.pack.properties[expression.function]
        node = (
            binding_of(expression.arguments[0], scope, self.flat) if expression.arguments else None
        )
        if not isinstance(node, FlatNode):
            raise failure("a property is asked of a node with a label", expression.span)
        inner = Scope({declared.parameter: node})
        rows: list[tuple[Sequence[str], str]] = []
        for op, value in declared.rows:
            ops = [each for each in self._ops(op) if each in node.ops]
            if ops:
                rows.append((ops, self.plain(value, inner)))
        if len(node.ops) == 1 and rows:
            return Code(rows[0][1], Kind.ANY)
        place = self.at(node)
        text = "None"
        for named, row in reversed(rows):
            text = f"({row} if {place}.op in {set_of(named)} else {text})"
        return self.kept(Code(text, Kind.ANY), strict)

    def _ops(self, op: OpName) -> Sequence[str]:
        return ops_of(op, self.helpers.pack)

    def guard(self, expression: Call, scope: Scope) -> list[tuple[Expr, Scope]]:
        """The conditions of a guard, each with the scope to read it in."""
        inner = guard_scope(expression, scope, self.flat, self.helpers.pack)
        guard = self.helpers.pack.guards[expression.function]
        missing = [name for name in guard.parameters if name not in inner.names]
        if missing or len(expression.arguments) > len(guard.parameters):
            count = len(guard.parameters)
            raise failure(f'"{guard.name}" takes {count} arguments', expression.span)
        return [(condition, inner) for condition in guard.conditions]


_QUICK = frozenset({"is_const", "is_output", "is_input", "use_count", "rank", "dim", "size"})


def _is_zero_point(argument: Expr) -> bool:
    return isinstance(argument, Field) and argument.name == "zero_point"


def _is_magnitude(call: Call) -> bool:
    """``max(abs(t))``"""
    match call.arguments:
        case (Call(function="abs", arguments=(_,)),):
            return True
        case _:
            return False


def set_of(ops: Sequence[str]) -> str:
    return "{" + ", ".join(repr(op) for op in sorted(ops)) + "}"


def matched(function: Function, call: Call) -> list[tuple[Parameter, Expr | None]]:
    """Every parameter with its argument; one that repeats stands once for each."""
    given = list(call.arguments)
    named = dict(call.keywords)
    found: list[tuple[Parameter, Expr | None]] = []
    for parameter in function.parameters:
        if parameter.repeated:
            found += [(parameter, argument) for argument in given]
            given = []
        elif given:
            found.append((parameter, given.pop(0)))
        elif parameter.name in named:
            found.append((parameter, named.pop(parameter.name)))
        elif parameter.required:
            message = f"{function.signature} is called without {parameter.name}"
            raise failure(message, call.span)
        else:
            found.append((parameter, None))
    if given or named:
        raise failure(f"this does not fit {function.signature}", call.span)
    return found
