"""From lark's tree to pack headers and declarations of ops, op sets, properties and patterns."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token, Tree

from ..diagnostics import failure
from ..syntax import (
    Alternative,
    Arity,
    AttributeDeclaration,
    Fragment,
    Guard,
    Name,
    OpDeclaration,
    OpSet,
    Option,
    PackHeader,
    Parameter,
    Property,
    Setting,
    Source,
)
from .expressions import (
    Branch,
    Child,
    branches,
    choices,
    expression,
    number,
    span_of,
    string,
    tokens,
)
from .terms import op_name, term


def pack_header(branch: Branch, source: Source) -> PackHeader:
    """``pack NAME "title" { … }``; a line of one kind may stand several times."""
    found = tokens(branch.children)
    lines = branches(branch.children)
    needs = [need for line in lines if line.data == "needs" for need in branches(line.children)]
    return PackHeader(
        name=str(found[0]),
        title=string(found[1], source) if len(found) > 1 else "",
        parents=_names(lines, "extends"),
        needs=tuple(_need(each) for each in needs),
        phases=_names(lines, "phases"),
        without=_names(lines, "without"),
        options=tuple(_option(line, source) for line in lines if line.data == "option"),
        span=span_of(branch, source),
    )


def _names(lines: Sequence[Branch], kind: str) -> tuple[str, ...]:
    return tuple(
        str(token) for line in lines if line.data == kind for token in tokens(line.children)
    )


def _need(branch: Branch) -> tuple[str, int]:
    *names, version = tokens(branch.children)
    domain = ".".join(names)
    return "" if domain == "ai.onnx" else domain, int(version)


def _option(branch: Branch, source: Source) -> Option:
    name, default, allowed, doc = branch.children
    assert isinstance(name, Token)
    settings = allowed.children if isinstance(allowed, Tree) else ()
    return Option(
        name=str(name),
        default=_setting(default, source),
        choices=tuple(_setting(each, source) for each in settings),
        doc=string(doc, source) if isinstance(doc, Token) else "",
        span=span_of(branch, source),
    )


def _setting(child: Child, source: Source) -> Setting:
    if isinstance(child, Tree):
        return number(child.children, source)
    assert isinstance(child, Token)
    return string(child, source) if child.type == "STRING" else child.type == "TRUE"


def op_declaration(branch: Branch, source: Source) -> OpDeclaration:
    """``op DOMAIN::NAME<attributes>(inputs) -> outputs where T in {…}``."""
    parts = branches(branch.children)
    op = op_name(parts[0], source)
    # `params?` leaves nothing behind where an op has no inputs; the outputs are always the last.
    parameters = [each for each in parts if each.data == "params"]
    inputs = parameters[0] if len(parameters) > 1 else None
    attributes = [each for part in parts if part.data == "decl_attrs" for each in part.children]
    variables = [each for part in parts if part.data == "type_vars" for each in part.children]
    return OpDeclaration(
        op=op,
        attributes=tuple(_attribute_declaration(each, source) for each in branches(attributes)),
        inputs=() if inputs is None else _parameters(inputs, source),
        outputs=_parameters(parameters[-1], source),
        type_variables=tuple(_type_variable(each, source) for each in branches(variables)),
        span=span_of(branch, source),
    )


def _attribute_declaration(branch: Branch, source: Source) -> AttributeDeclaration:
    name, kind, default = branch.children
    value = None if default is None else expression(default, source)
    return AttributeDeclaration(str(name), str(kind), value, span_of(branch, source))


def _parameters(branch: Branch, source: Source) -> tuple[Parameter, ...]:
    return tuple(_parameter(each, source) for each in branches(branch.children))


def _parameter(branch: Branch, source: Source) -> Parameter:
    name, kind, mark = branch.children
    arity = Arity.ONE if mark is None else Arity(str(mark))
    return Parameter(str(name), str(kind), arity, span_of(branch, source))


def _type_variable(branch: Branch, source: Source) -> tuple[str, tuple[str, ...]]:
    allowed = choices(branch.children[1], source)
    names = [each.id for each in allowed if isinstance(each, Name)]
    if isinstance(allowed, str) or len(names) < len(allowed):
        raise failure(
            "a type variable ranges over element types, as in T in {u8, i8}",
            span_of(branch, source),
        )
    return str(branch.children[0]), tuple(names)


def op_set(branch: Branch, source: Source) -> OpSet:
    """``[commutative] ops NAME = A | B``."""
    commutative, name, *ops = branch.children
    assert isinstance(name, Token)
    return OpSet(
        name=str(name),
        ops=tuple(op_name(each, source) for each in ops),
        commutative=commutative is not None,
        span=span_of(branch, source),
        name_span=span_of(name, source),
    )


def property_declaration(branch: Branch, source: Source) -> Property:
    """``property NAME(op) = {Conv: 0, …}``."""
    name, parameter, *rows = branch.children
    assert isinstance(name, Token)
    return Property(
        name=str(name),
        parameter=str(parameter),
        rows=tuple(
            (op_name(row.children[0], source), expression(row.children[1], source))
            for row in branches(rows)
        ),
        span=span_of(branch, source),
        name_span=span_of(name, source),
    )


def pattern_declaration(branch: Branch, source: Source) -> Fragment:
    """``pattern [RESULT =] NAME(parameters) = A where … | B where …``."""
    result, name, parameters, *alternatives = branch.children
    assert isinstance(name, Token)
    return Fragment(
        name=str(name),
        result=None if result is None else str(result),
        parameters=_parameter_names(parameters),
        alternatives=tuple(_alternative(each, source) for each in branches(alternatives)),
        span=span_of(branch, source),
        name_span=span_of(name, source),
    )


def _alternative(branch: Branch, source: Source) -> Alternative:
    value, *wheres = branches(branch.children)
    conditions = [each for where in wheres for each in where.children]
    return Alternative(
        term(value, source),
        tuple(expression(each, source) for each in conditions),
        span_of(branch, source),
    )


def _parameter_names(child: Child) -> tuple[str, ...]:
    return tuple(str(token) for token in child.children) if isinstance(child, Tree) else ()


def guard(branch: Branch, source: Source) -> Guard:
    """``guard NAME(parameters) = conditions``."""
    name, parameters, *conditions = branch.children
    assert isinstance(name, Token)
    return Guard(
        name=str(name),
        parameters=_parameter_names(parameters),
        conditions=tuple(expression(each, source) for each in conditions),
        span=span_of(branch, source),
        name_span=span_of(name, source),
    )
