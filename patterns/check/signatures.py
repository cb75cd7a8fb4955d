"""What the schemas say of an op over all the opsets that a rule may meet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import onnx.defs

from qrewrite.engine.schemas.known import Schemas
from qrewrite.engine.schemas.schema import AttributeSpec, Parameter, Schema

from ..diagnostics import did_you_mean
from ..packs.declared_ops import declared_schema
from ..packs.pack import Pack, op_key
from ..syntax import Apply, Name
from .report import Report

NEWEST = onnx.defs.onnx_opset_version()
"""The newest opset of ai.onnx that the installed onnx knows."""
UNBOUNDED = 1 << 16
"""More operands than any node has."""
OLDEST = 10
"""The least opset of ai.onnx where a pack does not say what it needs."""


@dataclass(frozen=True, slots=True)
class Opsets:
    """The versions of ai.onnx that a rule may meet, both ends included."""

    least: int
    most: int = NEWEST


@dataclass(frozen=True)
class Signature:
    """An op over a range of opsets: whatever one of its versions there takes or gives."""

    op: str
    versions: tuple[Schema, ...]
    """Oldest first; never empty."""

    @property
    def newest(self) -> Schema:
        return self.versions[-1]

    @cached_property
    def attributes(self) -> frozenset[str]:
        return frozenset(name for version in self.versions for name in version.attributes)

    @property
    def least_inputs(self) -> int:
        return min(version.min_inputs for version in self.versions)

    @property
    def most_inputs(self) -> int:
        return max(_bounded(version.max_inputs) for version in self.versions)

    @property
    def most_outputs(self) -> int:
        return max(_bounded(version.max_outputs) for version in self.versions)

    @cached_property
    def inputs(self) -> tuple[Parameter, ...]:
        """The inputs of all versions together: any of their types, optional where one says so."""
        return _joined([version.inputs for version in self.versions])

    @cached_property
    def outputs(self) -> tuple[Parameter, ...]:
        return _joined([version.outputs for version in self.versions])

    def input(self, position: int) -> Parameter | None:
        return _at(self.inputs, position)

    def output(self, position: int) -> Parameter | None:
        return _at(self.outputs, position)

    def specs(self, attribute: str) -> tuple[AttributeSpec, ...]:
        """An attribute in every version that has it."""
        return tuple(
            version.attributes[attribute]
            for version in self.versions
            if attribute in version.attributes
        )


def _bounded(count: int | None) -> int:
    return UNBOUNDED if count is None else count


def _at(parameters: tuple[Parameter, ...], position: int) -> Parameter | None:
    if position < len(parameters):
        return parameters[position]
    return parameters[-1] if parameters and parameters[-1].variadic else None


def _joined(versions: Iterable[tuple[Parameter, ...]]) -> tuple[Parameter, ...]:
    lists = list(versions)
    if len(lists) == 1:
        return lists[0]
    joined = []
    for position in range(max(map(len, lists))):
        found = [each[position] for each in lists if position < len(each)]
        any_type = any(not each.types for each in found)
        types = frozenset() if any_type else frozenset().union(*(each.types for each in found))
        newest = found[-1]
        optional = len(found) < len(lists) or any(each.optional for each in found)
        joined.append(Parameter(newest.name, newest.variable, types, optional, newest.variadic))
    return tuple(joined)


@dataclass
class Signatures:
    """The signatures that the rules of one pack need, each looked up once."""

    pack: Pack
    opsets: Opsets
    _known: dict[tuple[str, Opsets], Signature | None] = field(default_factory=dict)
    _histories: dict[tuple[str, int], tuple[Schema, ...]] = field(default_factory=dict)

    @cached_property
    def _schemas(self) -> Schemas:
        return Schemas(declared_schema(each) for each in self.pack.declarations.values())

    def of(self, op: str, opsets: Opsets | None = None) -> Signature | None:
        """The signature of an op; None where none of the opsets has it."""
        opsets = opsets or self.opsets
        key = (op, opsets)
        if key not in self._known:
            versions = self._versions(op, opsets)
            self._known[key] = Signature(op, versions) if versions else None
        return self._known[key]

    def _versions(self, op: str, opsets: Opsets) -> tuple[Schema, ...]:
        if "::" in op or op in self.pack.declarations:
            schema = self._schemas.schema(op)
            return () if schema is None else (schema,)
        found = []
        following = NEWEST + 1
        for schema in self._history(op, min(opsets.least, self.opsets.least)):
            if schema.since_version <= opsets.most and following > opsets.least:
                found.append(schema)
            following = schema.since_version
        return tuple(reversed(found))

    def _history(self, op: str, least: int) -> tuple[Schema, ...]:
        """The versions of an op of ai.onnx down to that of opset ``least``, newest first."""
        known = self._histories.get((op, least))
        if known is None:
            found = []
            version = NEWEST
            while version >= 1:
                schema = self._schemas.schema(op, version)
                if schema is not None:
                    found.append(schema)
                    version = schema.since_version
                if version <= least:
                    break
                version -= 1
            known = self._histories[op, least] = tuple(found)
        return known

    def ops_of(self, node: Apply) -> tuple[str, ...]:
        """The ops that a node of a pattern may be; none for a fragment."""
        op = node.op
        if op.slot is not None:
            return ()
        if not op.domain:
            if op.name in self.pack.fragments:
                return ()
            if op.name in self.pack.op_sets:
                return self.members(op.name)
        return (op_key(op),)

    def members(self, name: str, within: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """The ops of an op set, those of op sets inside it with them."""
        found: dict[str, None] = {}
        for op in self.pack.op_sets[name].ops:
            inner = not op.domain and op.name in self.pack.op_sets and op.name != name
            if inner and op.name not in within:
                found.update(dict.fromkeys(self.members(op.name, within | {name})))
            elif not inner:
                found[op_key(op)] = None
        return tuple(found)

    def of_node(self, node: Apply, opsets: Opsets | None = None) -> tuple[Signature, ...]:
        """The signatures of the ops that a node may be, those that exist."""
        found = (self.of(op, opsets) for op in self.ops_of(node))
        return tuple(signature for signature in found if signature is not None)

    def names(self) -> frozenset[str]:
        """Every op there is, and what stands for ops: what a misspelt name may mean."""
        return (
            frozenset(self._schemas.ops()) | self.pack.op_sets.keys() | self.pack.fragments.keys()
        )

    def shipped(self) -> frozenset[str]:
        """The ops that need no declaration."""
        return frozenset(Schemas().ops()) if self.pack.declarations else frozenset()

    def known_op(self, name: Name, report: Report) -> None:
        """Report a bare name in an expression that should be an op and is none."""
        if name.id not in self.pack.op_sets and self.of(name.id) is None:
            note = did_you_mean(name.id, self.names())
            report.error(name.span, f'there is no op "{name.id}"', note)
