"""Nodes of patterns and templates against the schemas of their ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..diagnostics import did_you_mean
from ..packs.pack import Pack, op_key
from ..syntax import (
    Absent,
    Apply,
    Arity,
    Assign,
    Group,
    OpName,
    OpSet,
    Property,
    Rest,
    Span,
    Target,
    Term,
    Wildcard,
)
from .report import Report
from .signatures import NEWEST, UNBOUNDED, Opsets, Signature, Signatures

COMMUTATIVE = frozenset(
    {"Add", "Mul", "Min", "Max", "Sum", "Mean", "And", "Or", "Xor", "Equal"}
    | {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)
"""Ops of ai.onnx whose operands may change places; of other domains nothing is known."""


class Ops:
    """Checks that ops exist, and how many operands and outputs they have."""

    def __init__(self, pack: Pack, report: Report, signatures: Signatures) -> None:
        self._pack = pack
        self._report = report
        self._signatures = signatures

    # -- declarations

    def op_set(self, definition: OpSet) -> None:
        for op in definition.ops:
            if not op.domain and op.name in self._pack.op_sets and op.name != definition.name:
                continue
            if self.exists(op, self._signatures.opsets) and definition.commutative:
                self._commutes(op_key(op), op.span)

    def property(self, definition: Property) -> None:
        for op, _ in definition.rows:
            self.exists(op, self._signatures.opsets)

    def exists(self, op: OpName, opsets: Opsets) -> bool:
        """Report an op that no opset of the range has."""
        key = op_key(op)
        if self._signatures.of(key, opsets) is not None:
            return True
        self.missing(key, op.span, opsets)
        return False

    def missing(self, key: str, span: Span, opsets: Opsets) -> None:
        if self._signatures.of(key, Opsets(1)) is not None:
            here = f"opset {opsets.least}"
            if opsets.most < NEWEST:
                here = f"opsets {opsets.least} to {opsets.most}"
                message = f"{key} does not exist in {here}, which the rule is for"
            else:
                message = f"{key} no longer exists in {here}, which the pack needs"
            self._report.error(span, message, self._lifetime(key))
            return
        note = self._elsewhere(key) or did_you_mean(key, self._signatures.names())
        domain = key.rpartition("::")[0]
        if not note and domain:
            note = (
                f"ops of other domains are declared: op {key}(x: T) -> y: T where T in {{u8, i8}}"
            )
        self._report.error(span, f'there is no op "{key}"', note)

    def _elsewhere(self, key: str) -> str:
        """The op of that very name in another domain."""
        name = key.rpartition("::")[2]
        found = sorted(each for each in self._signatures.names() if each.endswith(f"::{name}"))
        return f'did you mean "{found[0]}"?' if found and key not in found else ""

    def _lifetime(self, key: str) -> str:
        signature = self._signatures.of(key, Opsets(1))
        assert signature is not None
        first = signature.versions[0].since_version
        return f"it exists from opset {first} on" if first > 1 else ""

    # -- nodes

    def pattern_node(self, node: Apply, opsets: Opsets) -> tuple[Signature, ...]:
        """Check one node of a pattern; the signatures of the ops that it may be."""
        op = node.op
        if op.slot is not None:
            message = "an op made out of a label can stand in a template only"
            self._report.error(op.span, message)
            return ()
        if not op.domain and op.name in self._pack.fragments:
            return ()
        is_set = not op.domain and op.name in self._pack.op_sets
        if not is_set and not self.exists(op, opsets):
            return ()
        found = self._signatures.of_node(node, opsets)
        if not found and is_set:
            message = f"no op of {op.name} exists in opsets {opsets.least} to {opsets.most}"
            self._report.error(op.span, message)
        self._count(node, found)
        if node.commuted:
            self._commuted(node)
        return found

    def _commuted(self, node: Apply) -> None:
        if len(node.operands) != 2:
            self._report.error(node.span, "~ changes two operands: an op with ~ has exactly two")
            return
        for key in self._signatures.ops_of(node):
            self._commutes(key, node.op.span)

    def _commutes(self, key: str, span: Span) -> None:
        if "::" not in key and key not in COMMUTATIVE:
            message = f"the operands of {key} cannot change places: it is not commutative"
            self._report.error(span, message)

    def _count(self, node: Apply, found: Sequence[Signature]) -> None:
        """The operands written are as many as one of the ops takes."""
        if not found:
            return
        least, most = operand_count(node.operands)
        if any(least <= each.most_inputs and most >= each.least_inputs for each in found):
            return
        wanted = _takes(found)
        given = str(least) if least == most else f"{least} or more"
        self._report.error(node.span, f"{node.op.name} takes {wanted}, not {given}")

    def template_node(
        self, node: Apply, signature: Signature, present: Iterable[bool] = ()
    ) -> None:
        """Check the operands of a node that a template makes, for one op that it may be."""
        least, most = operand_count(node.operands)
        if least > signature.most_inputs or most < signature.least_inputs:
            wanted = _takes((signature,))
            self._report.error(node.span, f"{signature.op} takes {wanted}, not {most}")
            return
        self._operands(node, signature)

    def _operands(self, node: Apply, signature: Signature) -> None:
        for position, operand in enumerate(node.operands):
            if isinstance(operand, (Rest, Group)):
                break
            slot = signature.input(position)
            if slot is None:
                break
            missing = isinstance(operand, Absent) or _may_be_missing(operand)
            if missing and not slot.optional and not slot.variadic:
                what = "none" if isinstance(operand, Absent) else "what may be absent"
                message = f'input "{slot.name}" of {signature.op} is required, but this is {what}'
                self._report.error(operand.span, message)
            if _is_repeated(operand):
                if not slot.variadic:
                    message = f'input "{slot.name}" of {signature.op} is one tensor, not a list'
                    self._report.error(operand.span, message)
                break

    def outputs(self, statement: Assign, found: Sequence[Signature]) -> None:
        """The outputs named are no more than the op has."""
        targets = statement.targets
        if not found or not isinstance(statement.term, Apply):
            return
        most = max(each.most_outputs for each in found)
        if len(targets) > most:
            has = "1 output" if most == 1 else f"{most} outputs"
            message = f"{found[0].op} has {has}, not {len(targets)}"
            self._report.error(targets[most].span, message)
        elif len(targets) == 1 and targets[0].arity is Arity.REPEATED and most < UNBOUNDED:
            self._one_output(targets[0], statement.term, found[0])

    def _one_output(self, target: Target, node: Apply, signature: Signature) -> None:
        if signature.most_outputs == 1 and not any(_is_repeated(each) for each in node.operands):
            message = f'{signature.op} has one output: "{target.name}" is no list'
            self._report.error(target.span, message)


def operand_count(operands: Sequence[Term]) -> tuple[int, int]:
    """Least and largest number of operands that terms stand for; a last ``none`` is no operand."""
    least = most = 0
    for position, operand in enumerate(operands, 1):
        if isinstance(operand, Rest):
            most = UNBOUNDED
        elif isinstance(operand, Group):
            least += len(operand.operands)
            most = UNBOUNDED
        elif _is_repeated(operand):
            least += not isinstance(operand, Wildcard)
            most = UNBOUNDED
        else:
            most += 1
            if not isinstance(operand, Absent) and not _may_be_missing(operand):
                least = max(least + 1, position if most < UNBOUNDED else 0)
    return least, max(least, most)


def _is_repeated(operand: Term) -> bool:
    return getattr(operand, "arity", Arity.ONE) is Arity.REPEATED


def _may_be_missing(operand: Term) -> bool:
    return getattr(operand, "arity", Arity.ONE) is Arity.OPTIONAL


def _takes(found: Sequence[Signature]) -> str:
    least = min(each.least_inputs for each in found)
    most = max(each.most_inputs for each in found)
    if most >= UNBOUNDED:
        return f"at least {least} operand{'s' * (least != 1)}"
    if least == most:
        return f"{most} operand{'s' * (most != 1)}"
    return f"{least} to {most} operands"
