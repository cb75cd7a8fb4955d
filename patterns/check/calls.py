"""Calls in expressions: functions, guards and properties, with the arguments they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import did_you_mean
from ..functions import Accepts, Function, Parameter, Result, functions
from ..packs.pack import Pack
from ..syntax import Call, Expr, Field, Guard, Name
from .report import Report
from .scope import Kind, Scope
from .walk import subexpressions

if TYPE_CHECKING:
    from .expressions import Expressions

RESULTS = {
    Result.BOOL: Kind.BOOL,
    Result.NUMBER: Kind.NUMBER,
    Result.TENSOR: Kind.TENSOR,
    Result.QUANTIZED: Kind.TENSOR,
    Result.TYPE: Kind.TYPE,
    Result.LIST: Kind.LIST,
}
TENSORS = (Kind.TENSOR, Kind.NUMBER, Kind.LIST)
ACCEPTED = {
    Accepts.VALUE: TENSORS,
    Accepts.TENSOR: TENSORS,
    Accepts.SCALE: (Kind.TENSOR,),
    Accepts.QUANTIZED: (Kind.TENSOR,),
    Accepts.TYPE: (Kind.TYPE,),
    Accepts.NUMBER: (Kind.NUMBER, Kind.TENSOR),
    Accepts.TEXT: (Kind.TEXT,),
    Accepts.LIST: (Kind.LIST, Kind.TENSOR, Kind.NUMBER),  # a number is a list of one
}
SCALED = (Accepts.SCALE, Accepts.QUANTIZED)
WORDS = {
    Accepts.VALUE: "a tensor",
    Accepts.TENSOR: "a tensor",
    Accepts.SCALE: "a quantized tensor",
    Accepts.QUANTIZED: "a quantized tensor",
    Accepts.TYPE: "an element type",
    Accepts.NUMBER: "a number",
    Accepts.TEXT: "a string",
    Accepts.LIST: "a list",
}


class Calls:
    """Knows everything that can be called in the rules of one pack."""

    def __init__(self, pack: Pack, report: Report) -> None:
        self._pack = pack
        self._report = report
        self._functions: Mapping[str, Function] = functions()
        self._read: dict[str, tuple[frozenset[str], ...]] = {}

    def check(self, call: Call, scope: Scope, expressions: Expressions) -> Kind:
        """Report what is wrong with a call; the kind of its result."""
        kinds = [expressions.kind(argument, scope) for argument in call.arguments]
        keywords = {name: expressions.kind(value, scope) for name, value in call.keywords}
        name = call.function
        if name in self._functions:
            self._function(self._functions[name], call, kinds, keywords, scope, expressions)
            return RESULTS[self._functions[name].result]
        if name in self._pack.guards:
            self._guard(self._pack.guards[name], call, scope, expressions)
            return Kind.BOOL
        if name in self._pack.properties:
            self._property(call, kinds)
            return Kind.ANY
        if name in ("present", "opset"):
            return self._built_in(call, kinds)
        if name not in self._pack.functions:
            self._unknown(call)
        return Kind.ANY

    def _unknown(self, call: Call) -> None:
        known = [*self._functions, *self._pack.guards, *self._pack.properties]
        known += [*self._pack.functions, "present", "opset"]
        message = f'there is no function, guard or property "{call.function}"'
        self._report.error(call.span, message, did_you_mean(call.function, known))

    def _built_in(self, call: Call, kinds: Sequence[Kind]) -> Kind:
        wanted = "a capture" if call.function == "present" else "the name of a domain"
        if len(kinds) != 1 or call.keywords:
            message = f"{call.function} takes 1 argument, {wanted}, not {len(kinds)}"
            self._report.error(call.span, message)
        elif call.function == "present" and not isinstance(call.arguments[0], (Name, Field)):
            self._report.error(call.arguments[0].span, "present takes a capture or a part of one")
        elif call.function == "opset" and kinds[0] not in (Kind.TEXT, Kind.ANY):
            message = f"opset takes {wanted}, but this is {kinds[0].value}"
            self._report.error(call.arguments[0].span, message)
        return Kind.BOOL if call.function == "present" else Kind.NUMBER

    # -- functions

    def _function(
        self,
        function: Function,
        call: Call,
        kinds: Sequence[Kind],
        keywords: Mapping[str, Kind],
        scope: Scope,
        expressions: Expressions,
    ) -> None:
        parameters = {each.name: each for each in function.parameters}
        given = list(_positional(function, call))
        if len(given) < len(call.arguments):
            most = len(function.parameters)
            arguments = "1 argument" if most == 1 else f"{most} arguments"
            message = f"{function.name} takes at most {arguments}, not {len(call.arguments)}"
            self._report.error(call.span, message, f"it is {function.signature}")
            return
        for name, value in call.keywords:
            if name not in parameters:
                message = f'{function.name} has no parameter "{name}"'
                note = did_you_mean(name, parameters) or f"it is {function.signature}"
                self._report.error(value.span, message, note)
            elif any(name == parameter.name for parameter, _ in given):
                self._report.error(value.span, f'"{name}" is given twice')
        named = {parameter.name for parameter, _ in given} | keywords.keys()
        missing = [each for each in function.parameters if each.required and each.name not in named]
        if missing:
            message = f'{function.name} needs "{missing[0].name}"'
            self._report.error(call.span, message, f"it is {function.signature}")
        for (parameter, argument), kind in zip(given, kinds, strict=True):
            self._argument(function, parameter, argument, kind, scope, expressions)
        for name, value in call.keywords:
            if name in parameters:
                self._argument(
                    function, parameters[name], value, keywords[name], scope, expressions
                )

    def _argument(
        self,
        function: Function,
        parameter: Parameter,
        argument: Expr,
        kind: Kind,
        scope: Scope,
        expressions: Expressions,
    ) -> None:
        if kind is Kind.ANY or (kind is Kind.NONE and not parameter.required):
            return
        if kind not in ACCEPTED[parameter.accepts]:
            wanted = WORDS[parameter.accepts]
            message = f'"{parameter.name}" of {function.name} is {wanted}, but this is {kind.value}'
            self._report.error(argument.span, message, f"it is {function.signature}")
        elif isinstance(argument, Name) and parameter.accepts in SCALED:
            expressions.needs_part(argument, "scale", scope, function.name)

    # -- guards and properties

    def _guard(self, guard: Guard, call: Call, scope: Scope, expressions: Expressions) -> None:
        wanted, given = len(guard.parameters), len(call.arguments)
        form = f"{guard.name}({', '.join(guard.parameters)})"
        if wanted != given or call.keywords:
            arguments = "1 argument" if wanted == 1 else f"{wanted} arguments"
            message = f"guard {guard.name} takes {arguments}, not {given + len(call.keywords)}"
            self._report.error(call.span, message, f"it is declared as {form}")
            return
        for parts, argument in zip(self._parts_read(guard), call.arguments, strict=True):
            if isinstance(argument, Name):
                for part in sorted(parts):
                    if expressions.needs_part(argument, part, scope, guard.name):
                        break

    def _parts_read(self, guard: Guard) -> tuple[frozenset[str], ...]:
        """The parts of each parameter that a guard reads, itself or through what it calls."""
        known = self._read.get(guard.name)
        if known is None:
            self._read[guard.name] = (frozenset(),) * len(guard.parameters)  # a guard inside itself
            reads = [
                read
                for condition in guard.conditions
                for each in subexpressions(condition)
                for read in self._reads(each)
            ]
            known = tuple(
                frozenset(part for name, part in reads if name == parameter)
                for parameter in guard.parameters
            )
            self._read[guard.name] = known
        return known

    def _reads(self, expression: Expr) -> Iterator[tuple[str, str]]:
        """The parts that one expression reads, those inside it apart: (name, part)."""
        match expression:
            case Field(Name(name), part):
                yield name, part
            case Call(function, arguments) if function in self._pack.guards:
                read = self._parts_read(self._pack.guards[function])
                for parts, argument in zip(read, arguments, strict=False):
                    if isinstance(argument, Name):
                        yield from ((argument.id, part) for part in parts)
            case Call(function) if function in self._functions:
                for parameter, argument in _positional(self._functions[function], expression):
                    if parameter.accepts in SCALED and isinstance(argument, Name):
                        yield argument.id, "scale"

    def _property(self, call: Call, kinds: Sequence[Kind]) -> None:
        if len(kinds) != 1 or call.keywords:
            message = f"property {call.function} takes 1 argument, a node, not {len(kinds)}"
            self._report.error(call.span, message)
        elif kinds[0] not in (Kind.NODE, Kind.ANY):
            message = f"property {call.function} takes a node, but this is {kinds[0].value}"
            note = "label the node in the pattern, as in op: Conv(...)"
            self._report.error(call.arguments[0].span, message, note)

    def makes_quantized(self, call: Call) -> bool | None:
        """A call gives a tensor with a scale; None: not known."""
        function = self._functions.get(call.function)
        return None if function is None else function.result is Result.QUANTIZED


def _positional(function: Function, call: Call) -> Iterator[tuple[Parameter, Expr]]:
    """The parameters that arguments without a name are for."""
    parameters = function.parameters
    for position, argument in enumerate(call.arguments):
        if position < len(parameters):
            yield parameters[position], argument
        elif parameters and parameters[-1].repeated:
            yield parameters[-1], argument
