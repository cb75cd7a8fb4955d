"""Attributes of nodes: they exist, have a fitting value, and none is dropped without a word."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from onnx import AttributeProto

from ..diagnostics import did_you_mean
from ..syntax import (
    Apply,
    Attribute,
    DropAttribute,
    Expr,
    ListOf,
    Literal,
    RestAttributes,
    Span,
)
from .report import Report
from .signatures import Opsets, Signature, Signatures

KIND_WORDS: Mapping[int, str] = {
    AttributeProto.INT: "a whole number",
    AttributeProto.FLOAT: "a number",
    AttributeProto.STRING: "a string",
    AttributeProto.INTS: "a list of whole numbers",
    AttributeProto.FLOATS: "a list of numbers",
    AttributeProto.STRINGS: "a list of strings",
    AttributeProto.TENSOR: "a tensor",
}
ELEMENTS: Mapping[int, int] = {
    AttributeProto.INTS: AttributeProto.INT,
    AttributeProto.FLOATS: AttributeProto.FLOAT,
    AttributeProto.STRINGS: AttributeProto.STRING,
}


class Attributes:
    def __init__(self, report: Report, signatures: Signatures) -> None:
        self._report = report
        self._signatures = signatures

    # -- patterns

    def pattern(self, node: Apply, found: Sequence[Signature]) -> None:
        """The attributes that a pattern names exist in an opset that the rule is for."""
        for item in node.attributes or ():
            if isinstance(item, RestAttributes):
                continue
            lacking = [each for each in found if item.name not in each.attributes]
            may_lack = isinstance(item, DropAttribute) or item.optional
            if lacking and (len(lacking) == len(found) or not may_lack):
                self._no_attribute(lacking[0], item.name, item.span)
            elif isinstance(item, Attribute):
                for each in found:
                    self._value(each, item.name, item.value)

    def _no_attribute(self, signature: Signature, name: str, span: Span) -> None:
        message = f'{signature.op} has no attribute "{name}"'
        always = self._signatures.of(signature.op, Opsets(1))
        if always is not None and name in always.attributes:
            having = [each.since_version for each in always.versions if name in each.attributes]
            opsets = f"from opset {signature.versions[0].since_version} on"
            if having[0] > signature.newest.since_version:
                opsets = f"before opset {having[0]}"
            self._report.error(span, f"{message} {opsets}")
            return
        self._report.error(span, message, did_you_mean(name, signature.attributes))

    def _value(self, signature: Signature, name: str, value: Expr) -> None:
        """A value that is written out has the type of the attribute."""
        kinds = {spec.kind for spec in signature.specs(name)}
        if kinds and not any(fits(kind, value) for kind in kinds):
            word = KIND_WORDS.get(sorted(kinds)[0], "something else")
            message = f'attribute "{name}" of {signature.op} is {word}'
            self._report.error(value.span, message)

    def dropped(self, node: Apply, found: Sequence[Signature], read: frozenset[str]) -> None:
        """Every attribute of a removed node is matched, captured or dropped knowingly.

        ``read`` holds the attributes that conditions read through the label of the node.
        """
        items = node.attributes or ()
        if any(isinstance(item, RestAttributes) for item in items):
            return
        named = {item.name for item in items if not isinstance(item, RestAttributes)} | read
        missing = sorted({name for each in found for name in each.attributes} - named)
        if missing:
            message = f"would drop {_listed(missing)} of {node.op.name}"
            note = "pass them on with <*attrs>, match a value, or drop them knowingly with <*_>"
            self._report.error(node.op.span, message, note)

    def unused(self, span: Span, name: str, node: Apply | None) -> None:
        """A captured set of attributes that no template uses."""
        of = f" of {node.op.name}" if node is not None else ""
        message = f'would drop the attributes "{name}"{of}'
        self._report.error(span, message, "use them in the template, or write *_ to drop them")

    # -- templates

    def template(
        self, node: Apply, signature: Signature, sources: Sequence[tuple[Apply, Signature]]
    ) -> None:
        """The attributes of a node that a template makes; ``sources``: those of ``*attrs``."""
        given = set()
        for item in node.attributes or ():
            if isinstance(item, Attribute):
                given.add(item.name)
                if item.name not in signature.attributes:
                    self._no_attribute(signature, item.name, item.span)
                else:
                    self._value(signature, item.name, item.value)
        self._required(node, signature, given)
        for item in node.attributes or ():
            if isinstance(item, RestAttributes):
                for source, origin in sources:
                    self._passed_on(item, source, origin, signature, given)

    def _required(self, node: Apply, signature: Signature, given: set[str]) -> None:
        if any(isinstance(item, RestAttributes) for item in node.attributes or ()):
            return
        for name, attribute in signature.newest.attributes.items():
            if attribute.required and name not in given:
                message = f'{signature.op} needs the attribute "{name}"'
                self._report.error(node.op.span, message)

    def _passed_on(
        self,
        item: RestAttributes,
        source: Apply,
        origin: Signature,
        signature: Signature,
        given: set[str],
    ) -> None:
        """What ``*attrs`` may hold, the new op has too, with the same default.

        ``given`` are the attributes that the template writes itself: they stand above ``*attrs``.
        """
        if origin.op == signature.op:
            return
        named = {
            each.name for each in source.attributes or () if not isinstance(each, RestAttributes)
        }
        for name in sorted(origin.attributes - named - given):
            if name in signature.attributes:
                self._same_default(item, name, origin, signature)
                continue
            message = (
                f'*{item.capture} may hold "{name}" of {origin.op}, '
                f"which {signature.op} does not have"
            )
            note = f"match it beside the others, as in <{name} = _, *{item.capture}>"
            self._report.error(item.span, message, note)

    def _same_default(
        self, item: RestAttributes, name: str, origin: Signature, signature: Signature
    ) -> None:
        here = [spec.default for spec in origin.specs(name)]
        there = [spec.default for spec in signature.specs(name)]
        required = any(spec.required for spec in signature.specs(name))
        if required or all(_same(one, other) for one in here for other in there):
            return
        message = (
            f'"{name}" has another default in {signature.op} than in {origin.op}, '
            f"so *{item.capture} does not carry it where it is absent"
        )
        self._report.error(item.span, message, f"capture it and write it out: <{name} = {name}, …>")


def fits(kind: int, value: Expr) -> bool:
    """A literal may be the value of an attribute of that kind; the rest is known at run time."""
    match value:
        case Literal(bool()):
            return kind == AttributeProto.INT
        case Literal(int()):
            return kind in (AttributeProto.INT, AttributeProto.FLOAT)
        case Literal(float()):
            return kind == AttributeProto.FLOAT
        case Literal(str()):
            return kind == AttributeProto.STRING
        case ListOf(elements):
            inner = ELEMENTS.get(kind)
            return inner is not None and all(fits(inner, element) for element in elements)
        case _:
            return True


def _same(one: object, other: object) -> bool:
    """Defaults are equal; ONNX keeps floats in 32 bits, so they agree to seven digits."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6)
    return one == other


def _listed(names: Sequence[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    if len(quoted) == 1:
        return f"attribute {quoted[0]}"
    return f"attributes {', '.join(quoted[:-1])} and {quoted[-1]}"
