"""Templates: built from what the pattern binds, giving a value for every root of the pattern."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..diagnostics import did_you_mean
from ..packs.pack import Pack
from ..syntax import (
    Absent,
    Alternatives,
    Apply,
    Arity,
    Assign,
    Attribute,
    Capture,
    Constant,
    DropAttribute,
    Group,
    Presence,
    Quantifier,
    Rest,
    RestAttributes,
    Rule,
    Term,
    Use,
    Wildcard,
)
from .bindings import Bindings, Role, captures_of
from .expressions import Expressions
from .recoding import check_recoding, connected
from .report import Report
from .roots import is_optional, outputs, roots, siblings, values_read
from .scope import PARTS, Kind, Meaning, Scope
from .walk import count, subterms

OPERAND_KINDS = (Kind.TENSOR, Kind.NUMBER, Kind.LIST, Kind.ANY)


class Templates:
    def __init__(self, pack: Pack, report: Report, expressions: Expressions) -> None:
        self._pack = pack
        self._report = report
        self._expressions = expressions

    def rule(self, rule: Rule, bindings: Bindings, scope: Scope) -> None:
        whole = connected(rule)
        if whole is not None:
            check_recoding(rule, whole, self._report)
            scope.used.add(whole.name)
            return
        self._targets(rule, bindings)
        for statement in rule.template:
            own = {target.name for target in statement.targets}
            inner = _with_targets(scope, rule, bindings)
            term = statement.term
            if self._one_each(statement):  # the results are the list that is gone through
                assert isinstance(term, Apply)
                term = replace(term, arity=Arity.ONE)
            self._term(term, inner, bindings, term is not statement.term)
            for each in subterms(statement.term):
                if isinstance(each, Capture) and each.part is None and each.name in own:
                    self._report.error(each.span, f'"{each.name}" is made out of itself')
            scope.used |= inner.used

    # -- outputs

    def _targets(self, rule: Rule, bindings: Bindings) -> None:
        produced: set[str] = set()
        given = outputs(rule).keys() | _use_results(rule)
        read = frozenset(name for assign in rule.template for name in values_read(assign.term))
        for assign in rule.template:
            for target in assign.targets:
                name = target.name
                if name in produced:
                    message = f'the template produces "{name}" twice'
                    self._report.error(target.span, message)
                elif name in bindings.names and name not in given:
                    message = f'"{name}" is read by the pattern, so the template cannot produce it'
                    self._report.error(target.span, message)
                elif name not in given and name not in read:
                    message = f'the pattern defines no output "{name}"'
                    self._report.error(target.span, message, did_you_mean(name, given))
                produced.add(name)
        if produced - given - bindings.names.keys() - read:
            return  # a root under another name: one mistake
        for root in roots(rule):
            if not siblings(rule, root.name) & produced and not is_optional(root):
                message = f'the template does not produce "{root.name}"'
                note = "produce it, or write & before a node that is only looked at"
                self._report.error(root.span, message, note)

    def _one_each(self, statement: Assign) -> bool:
        """``y... = Q(v)...`` makes a node for each element of y; a fragment gives no list."""
        lists = [each for each in statement.targets if each.arity is Arity.REPEATED]
        term = statement.term
        if not lists or not isinstance(term, Apply):
            return False
        if term.arity is Arity.REPEATED:
            return True
        if not term.op.domain and term.op.name in self._pack.fragments:
            message = f'{term.op.name} gives one value, but "{lists[0].name}" is a list'
            note = f"write {term.op.name}(...)... to make one for each element"
            self._report.error(term.span, message, note)
        return False

    # -- terms

    def _term(self, term: Term, scope: Scope, bindings: Bindings, listed: bool) -> None:
        match term:
            case Capture():
                self._capture(term, scope, listed)
            case Rest():
                self._rest(term, scope)
            case Group():
                self._repeat(term.operands, term, scope)
                for operand in term.operands:
                    self._term(operand, scope, bindings, True)
            case Apply():
                self._apply(term, scope, bindings, listed)
            case Wildcard() | Alternatives():
                what = "_" if isinstance(term, Wildcard) else "an alternative"
                self._report.error(term.span, f"{what} can stand in a pattern only")
            case Absent() | Constant():
                pass

    def _capture(self, term: Capture, scope: Scope, listed: bool) -> None:
        meaning = scope.names.get(term.name)
        if meaning is None:
            self._unbound(term.name, term, scope)
            return
        scope.used.add(term.name)
        if term.part is not None:
            self._part(term, meaning)
        elif meaning.kind not in OPERAND_KINDS:
            message = f'an operand is a value, but "{term.name}" is {meaning.kind.value}'
            self._report.error(term.span, message)
            return
        repeated = listed or term.arity is Arity.REPEATED
        if meaning.repeated and not repeated:
            message = f'"{term.name}" is a list: where one value is expected write {term.name}...'
            self._report.error(term.span, message)
        elif term.arity is Arity.REPEATED and not meaning.repeated and meaning.kind is Kind.TENSOR:
            self._report.error(term.span, f'"{term.name}" is one value, not a list')
        if meaning.optional and term.arity is Arity.ONE:
            written = term.name if term.part is None else f"{term.name}.{term.part}"
            message = f'"{term.name}" may be absent: write {written}?'
            self._report.error(term.span, message)

    def _part(self, term: Capture, meaning: Meaning) -> None:
        part = term.part
        assert part is not None
        if part not in PARTS:
            message = f'a tensor has no part "{part}"'
            self._report.error(term.span, message, did_you_mean(part, PARTS))
        elif part not in ("scale", "zero_point"):
            message = f"an operand is a value, but {term.name}.{part} is none"
            self._report.error(term.span, message, "scale and zero_point are values")
        elif meaning.parts is not None and part not in meaning.parts:
            message = f'"{term.name}" has no {part}'
            note = "scale, zero_point and axis are parts of what stands under DQ or is made by Q"
            self._report.error(term.span, message, note)

    def _rest(self, term: Rest, scope: Scope) -> None:
        meaning = scope.names.get(term.capture)
        if meaning is None:
            self._unbound(term.capture, term, scope)
            return
        scope.used.add(term.capture)
        if meaning.kind not in (Kind.LIST, Kind.ANY):
            message = f'"{term.capture}" is {meaning.kind.value}, not a rest of operands'
            self._report.error(term.span, message)

    def _unbound(self, name: str, term: Term, scope: Scope) -> None:
        if name in scope.unknown:
            return
        scope.unknown.add(name)
        message = f'"{name}" is not bound'
        if name in scope.hidden:
            message = f'"{name}" is bound inside `{scope.hidden[name]}`, where nothing can read it'
        self._report.error(term.span, message, did_you_mean(name, scope.names))

    def _repeat(self, operands: Iterable[Term], term: Term, scope: Scope) -> None:
        """Something under ``...`` must be a list, or there is nothing to repeat over."""
        names = [name for operand in operands for name in captures_of(operand)]
        known = [scope.names[name] for name in names if name in scope.names]
        if len(known) == len(names) and not any(
            meaning.repeated or meaning.kind in (Kind.LIST, Kind.ANY) for meaning in known
        ):
            self._report.error(term.span, "nothing under `...` is a list")

    def _apply(self, node: Apply, scope: Scope, bindings: Bindings, listed: bool) -> None:
        self._marks(node, scope)
        self._op(node, scope, bindings)
        for item in node.attributes or ():
            match item:
                case Attribute():
                    self._expressions.kind(item.value, scope)
                case RestAttributes(capture) if capture is not None:
                    self._rest_attributes(item, scope)
                case RestAttributes() | DropAttribute():
                    message = "a template has nothing to drop: leave the attribute out"
                    self._report.error(item.span, message)
        if node.arity is Arity.REPEATED:
            self._repeat(node.operands, node, scope)
        for operand in node.operands:
            self._term(operand, scope, bindings, listed or node.arity is Arity.REPEATED)

    def _rest_attributes(self, item: RestAttributes, scope: Scope) -> None:
        name = item.capture or ""
        meaning = scope.names.get(name)
        if meaning is None:
            if name not in scope.unknown:
                scope.unknown.add(name)
                note = did_you_mean(name, scope.names)
                self._report.error(item.span, f'"{name}" is not bound', note)
            return
        scope.used.add(name)
        if meaning.kind is not Kind.ATTRIBUTES:
            message = f'"{name}" is {meaning.kind.value}, not a set of attributes'
            self._report.error(item.span, message)

    def _marks(self, node: Apply, scope: Scope) -> None:
        wrong = [
            ("&", node.borrowed),
            ("~", node.commuted),
            (node.presence.value, node.presence in (Presence.ANY, Presence.SOME)),
        ]
        for mark, stands in wrong:
            if stands:
                self._report.error(node.span, f"{mark} can stand in a pattern only")

    def _op(self, node: Apply, scope: Scope, bindings: Bindings) -> None:
        op = node.op
        if op.slot is not None:
            self._label(op.slot, node, scope, bindings)
        elif not op.domain and bindings.role(op.name) is Role.NODE:
            scope.used.add(op.name)
        elif not op.domain and op.name in self._pack.op_sets:
            message = f'"{op.name}" is a set of ops: a template needs one op'
            note = f"label the node of the pattern and write its label, as in op: {op.name}(...)"
            self._report.error(node.span, message, note)
        fragment = None if op.domain else self._pack.fragments.get(op.name)
        if fragment is not None:
            wanted, given = len(fragment.parameters), len(node.operands)
            if given > wanted and op.slot is None:
                message = f"{fragment.name} takes {count(wanted, 'operand')}, not {given}"
                form = f"{fragment.name}({', '.join(fragment.parameters)})"
                self._report.error(node.span, message, f"it is declared as {form}")

    def _label(self, slot: str, node: Apply, scope: Scope, bindings: Bindings) -> None:
        role = bindings.role(slot)
        if role is Role.NODE:
            scope.used.add(slot)
            return
        labels = [name for name in bindings.names if bindings.role(name) is Role.NODE]
        message = f'"{slot}" is not the label of a node of the pattern'
        self._report.error(node.op.span, message, did_you_mean(slot, labels))


def _use_results(rule: Rule) -> set[str]:
    return {
        statement.result
        for statement in rule.pattern
        if isinstance(statement, Use)
        and statement.result is not None
        and statement.quantifier is not Quantifier.NO
    }


def _with_targets(scope: Scope, rule: Rule, bindings: Bindings) -> Scope:
    """The template's own intermediate values can be read in the template, too."""
    names = dict(scope.names)
    for assign in rule.template:
        for target in assign.targets:
            if target.name not in bindings.names:
                repeated = target.arity is Arity.REPEATED
                names[target.name] = Meaning(Kind.TENSOR, None, repeated=repeated)
    return Scope(names, scope.later, scope.hidden, scope.used, scope.unknown)
