"""Names of a pack: everything read is bound, everything bound is used, what is called exists."""

from __future__ import annotations

from ..diagnostics import did_you_mean
from ..packs.pack import Pack
from ..syntax import (
    Apply,
    Assign,
    Attribute,
    Clause,
    Connected,
    Expr,
    Fragment,
    Guard,
    Let,
    Name,
    Property,
    Rule,
    Statement,
    Term,
    Use,
)
from .bindings import Binding, Bindings, Role, captures_of
from .collect import Collector
from .expressions import Expressions
from .report import Report
from .roots import produced
from .scope import Kind, Meaning, Scope, scope_of, scope_of_parameters
from .templates import Templates
from .walk import count, nodes


class Names:
    """Checks the names of rules, fragments, guards and properties of one pack."""

    def __init__(
        self, pack: Pack, report: Report, collector: Collector, expressions: Expressions
    ) -> None:
        self._pack = pack
        self._report = report
        self._collector = collector
        self._expressions = expressions
        self._templates = Templates(pack, report, expressions)

    def rule(self, rule: Rule, bindings: Bindings, consistent: bool) -> Scope:
        """Check a rule; ``consistent``: each of its names is one thing. Gives what it has used."""
        for statement in rule.pattern:
            self._statement(statement, bindings)
        scope = scope_of(bindings, rule)
        for expression in bindings.expressions:
            self._expressions.kind(expression, scope)
        self._clauses(rule.clauses, scope)
        if consistent:
            self._templates.rule(rule, bindings, scope)
        self._claimed(rule, scope)
        return scope

    def fragment(self, fragment: Fragment) -> None:
        before = self._report.errors
        used: set[str] = set()
        bindings = self._collector.of_fragment(fragment)
        for alternative in fragment.alternatives:
            self._calls(alternative.term)
            self._parameters(fragment, alternative.term)
            scope = scope_of(bindings)
            for condition in alternative.conditions:
                self._expressions.condition(condition, scope)
            used |= scope.used
        scope = scope_of(bindings)
        scope.used |= used
        for expression in bindings.expressions:
            self._expressions.kind(expression, scope)
        if self._report.errors == before:
            scope.used |= {*fragment.parameters, fragment.result or ""}
            for binding in bindings.names.values():
                if self._in_vain(binding, scope):
                    self._bound_in_vain(binding)

    def guard(self, guard: Guard) -> None:
        scope = scope_of_parameters(guard.parameters)
        for condition in guard.conditions:
            self._expressions.condition(condition, scope)
        for name in guard.parameters:
            if name not in scope.used:
                self._report.warning(
                    guard.name_span, f'guard "{guard.name}" does not use its parameter "{name}"'
                )

    def property(self, definition: Property) -> None:
        for _, value in definition.rows:
            scope = Scope({definition.parameter: Meaning(Kind.NODE)})
            self._expressions.kind(value, scope)

    # -- patterns

    def _statement(self, statement: Statement, bindings: Bindings) -> None:
        match statement:
            case Assign():
                self._calls(statement.term)
            case Use():
                self._calls(statement.term)
                self._known_value(statement.value, statement, bindings)
                if statement.value not in captures_of(statement.term):
                    message = f'this must say where it reads "{statement.value}"'
                    self._report.error(statement.term.span, message)
            case Connected():
                self._known_value(statement.start, statement, bindings)

    def _known_value(self, name: str, statement: Use | Connected, bindings: Bindings) -> None:
        if name not in bindings.names:
            message = f'"{name}" is not bound by the pattern'
            note = did_you_mean(name, bindings.names)
            self._report.error(statement.span, message, note)

    def _calls(self, term: Term) -> None:
        """Fragments take an operand for each parameter; optional last ones may be left out."""
        for node in nodes(term):
            fragment = None if node.op.domain else self._pack.fragments.get(node.op.name)
            if fragment is None:
                continue
            wanted, given = len(fragment.parameters), len(node.operands)
            summary = self._collector.summary(fragment)
            left_out = [summary.get(name) for name in fragment.parameters[given:]]
            if given > wanted or any(each is None or not each.optional for each in left_out):
                message = f"{fragment.name} takes {count(wanted, 'operand')}, not {given}"
                form = f"{fragment.name}({', '.join(fragment.parameters)})"
                self._report.error(node.span, message, f"it is declared as {form}")
            if node.attributes is not None:
                message = f"{fragment.name} is a pattern: it takes operands and no attributes"
                self._report.error(node.span, message)

    def _parameters(self, fragment: Fragment, term: Term) -> None:
        bound = captures_of(term)
        bindings = self._collector.of_fragment(fragment)
        for name in fragment.parameters:
            if name not in bound and bindings.role(name) in (None, Role.VALUE):
                message = f'this does not bind "{name}", a parameter of {fragment.name}'
                self._report.error(term.span, message)

    # -- clauses

    def _clauses(self, clauses: tuple[Clause, ...], scope: Scope) -> None:
        for clause in clauses:
            if isinstance(clause, Let):
                for name, value in clause.bindings:
                    kind = self._expressions.kind(value, scope)
                    self._compute(name, value, kind, clause, scope)
            else:
                for condition in clause.conditions:
                    self._expressions.condition(condition, scope)

    def _compute(self, name: str, value: Expr, kind: Kind, clause: Let, scope: Scope) -> None:
        if name in scope.names:
            message = f'let cannot give "{name}" another meaning: it is already bound'
            self._report.error(clause.span, message)
        scope.later.pop(name, None)
        scope.names[name] = self._expressions.meaning(value, kind)

    def _claimed(self, rule: Rule, scope: Scope) -> None:
        """Names that the endings of a rule use."""
        tensor = getattr(rule.claim, "tensor", None)
        for name in (tensor, rule.compare_codes):
            if name is not None:
                scope.used.add(name)

    # -- what is bound in vain

    def unused(self, rule: Rule, bindings: Bindings, scope: Scope) -> None:
        """Warn of what a rule binds in vain; an attribute bound in vain is lost: an error."""
        made = produced(rule)
        for binding in bindings.names.values():
            if self._in_vain(binding, scope) and binding.name not in made:
                self._bound_in_vain(binding)
        for clause in rule.clauses:
            if isinstance(clause, Let):
                for name, value in clause.bindings:
                    if name not in scope.used:
                        self._report.warning(value.span, f'"{name}" is computed and never used')

    def _bound_in_vain(self, binding: Binding) -> None:
        if binding.role is Role.ATTRIBUTE and binding.op is not None and not binding.op.borrowed:
            name = _attribute_name(binding, binding.op)
            message = f'would drop attribute "{name}" of {binding.op.op.name}'
            note = f'"{binding.name}" is never used: write {name} = _ to drop it knowingly'
            self._report.error(binding.span, message, note)
            return
        self._report.warning(binding.span, f'"{binding.name}" is never used', _instead(binding))

    def _in_vain(self, binding: Binding, scope: Scope) -> bool:
        return (
            binding.role is not Role.ATTRIBUTES
            and binding.name not in scope.used
            and binding.places == 1
            and not binding.name.startswith("_")
        )


def _attribute_name(binding: Binding, node: Apply) -> str:
    """The attribute that a name was captured from."""
    return next(
        item.name
        for item in node.attributes or ()
        if isinstance(item, Attribute) and item.value == Name(binding.name, binding.span)
    )


def _instead(binding: Binding) -> str:
    if binding.role is Role.NODE:
        return "a node that nothing refers to needs no label"
    if binding.role is Role.OPERANDS:
        return "the rewritten node would lose these operands"
    return "write _ for what a rule does not need"
