"""From lark's tree to the terms, targets and statements of the syntax tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lark import Token, Tree

from ..diagnostics import failure
from ..syntax import (
    Absent,
    Alternatives,
    Apply,
    Arity,
    Assign,
    Attribute,
    AttributeItem,
    Capture,
    Connected,
    Constant,
    DropAttribute,
    Group,
    OpName,
    Presence,
    Quantifier,
    Rest,
    RestAttributes,
    Source,
    Span,
    Statement,
    Target,
    Term,
    Use,
    Wildcard,
)
from .expressions import Branch, Child, branches, expression, number, span_of, tokens

QUANTIFIERS = {
    "each_use": Quantifier.EACH,
    "some_use": Quantifier.SOME,
    "no_use": Quantifier.NO,
}


def term(child: Child, source: Source) -> Term:
    """The term of a branch (see ``?term`` in the grammar)."""
    assert isinstance(child, Tree)
    span = span_of(child, source)
    kind, children = child.data, child.children
    if kind in ("apply", "labelled_apply"):
        return _apply(child, source, span)
    if kind == "borrow":
        node = term(children[1], source)
        assert isinstance(node, Apply)
        return replace(node, borrowed=True, span=span)
    if kind in ("capture", "field_capture"):
        names = [str(token) for token in tokens(children)]
        part = names[1] if len(names) > 1 else None
        return Capture(names[0], part, _arity(children, source), span)
    if kind == "alternatives":
        chosen = [each for each in branches(children) if each.data != "operand_mark"]
        terms = tuple(term(each, source) for each in chosen)
        return Alternatives(terms, _arity(children, source), span)
    if kind == "group":
        return Group(_operands(children[0], source), span)
    return _leaf(child, source, span)


def _leaf(branch: Branch, source: Source, span: Span) -> Term:
    kind, children = branch.data, branch.children
    if kind == "wildcard":
        return Wildcard(_arity(children, source), span)
    if kind == "absent":
        return Absent(span)
    if kind == "rest":
        return Rest(str(children[0]), span)
    values = [number(each.children, source) for each in branches(children)]
    if kind == "literal":
        return Constant(values[0], span)
    assert kind == "literal_list", kind
    return Constant(tuple(values), span)


def _arity(children: Sequence[Child], source: Source) -> Arity:
    """What the ``?`` and ``...`` behind an operand mean."""
    marks = [each for each in branches(children) if each.data == "operand_mark"]
    if not marks:
        return Arity.ONE
    if len(marks) > 1:
        raise failure(
            "an operand has one mark, ? or ...",
            span_of(marks[1], source),
            "? is none or one, ... is one or more, *NAME is all the operands that are left",
        )
    return Arity(str(marks[0].children[0]))


def _operands(child: Child, source: Source) -> tuple[Term, ...]:
    assert isinstance(child, Tree)
    return tuple(term(each, source) for each in child.children)


def _apply(branch: Branch, source: Source, span: Span) -> Apply:
    children = branch.children
    label = str(children[0]) if branch.data == "labelled_apply" else None
    use = next(each for each in branches(children) if each.data == "op_use")
    operands = next((each for each in branches(children) if each.data == "args"), None)
    marks = [each for each in branches(use.children) if each.data == "op_mark"]
    written = [token for mark in marks for token in tokens(mark.children)]
    presences = [token for token in written if token.type == "NODE_MARK"]
    if len(presences) > 1 or len(written) - len(presences) > 1:
        place = span_of(written[-1], source)
        raise failure("an op has one of ?, * and + behind it, and ~ once", place)
    attributes = next((each for each in branches(use.children) if each.data == "attrs"), None)
    return Apply(
        op=op_name(use.children[0], source),
        label=label,
        attributes=None if attributes is None else _attributes(attributes, source),
        operands=() if operands is None else _operands(operands, source),
        borrowed=False,
        commuted=len(written) > len(presences),
        presence=Presence(str(presences[0])) if presences else Presence.ONCE,
        arity=_arity(children, source),
        span=span,
    )


def op_name(child: Child, source: Source) -> OpName:
    """An op's name; the domain ``ai.onnx`` is ``""``."""
    assert isinstance(child, Tree)
    domain, slot, suffix = "", None, ""
    name = next(token for token in tokens(child.children) if token.type == "NAME")
    for each in child.children:
        if isinstance(each, Token) and each.type == "DOMAIN":
            domain = each.removesuffix("::")
        elif isinstance(each, Tree):
            found = [str(token) for token in tokens(each.children)]
            slot, suffix = found[0], "".join(found[1:])
    span = span_of(child, source)
    return OpName("" if domain == "ai.onnx" else domain, str(name), slot, suffix, span)


def _attributes(branch: Branch, source: Source) -> tuple[AttributeItem, ...]:
    items = tuple(_attribute(each, source) for each in branches(branch.children))
    rests = [item for item in items if isinstance(item, RestAttributes)]
    if len(rests) > 1:
        raise failure("the remaining attributes are named twice", rests[1].span)
    seen: set[str] = set()
    for item in items:
        if not isinstance(item, RestAttributes):
            if item.name in seen:
                raise failure(f'attribute "{item.name}" is given twice', item.span)
            seen.add(item.name)
    return items


def _attribute(branch: Branch, source: Source) -> AttributeItem:
    span = span_of(branch, source)
    kind, children = branch.data, branch.children
    if kind == "rest_attrs":
        return RestAttributes(str(children[0]), span)
    if kind == "drop_attrs":
        return RestAttributes(None, span)
    if kind == "drop_attr":
        return DropAttribute(str(children[0]), span)
    return Attribute(
        str(children[0]), expression(children[1], source), children[2] is not None, span
    )


def assign(branch: Branch, source: Source) -> Assign:
    """``targets = term`` of a pattern or a template."""
    targets, value = branches(branch.children)
    return Assign(
        tuple(_target(each, source) for each in branches(targets.children)),
        term(value, source),
        span_of(branch, source),
    )


def _target(branch: Branch, source: Source) -> Target:
    arity = _arity(branch.children, source)
    return Target(str(branch.children[0]), arity, span_of(branch, source))


def statement(branch: Branch, source: Source) -> Statement:
    """A statement of a pattern: an assignment, a condition on uses, or a connected set."""
    span = span_of(branch, source)
    children = branch.children
    if branch.data == "assign":
        return assign(branch, source)
    if branch.data == "connected":
        name, start = (str(token) for token in tokens(children))
        ops = tuple(op_name(each, source) for each in branches(children))
        return Connected(name, start, ops, span)
    names = [str(token) for token in tokens(children)]
    result = names[1] if len(names) > 1 else None
    return Use(QUANTIFIERS[branch.data], names[0], result, term(children[-1], source), span)
