"""Declarations of ops: types, defaults and names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from qrewrite.engine.dtypes import NUMBERS

from ..diagnostics import did_you_mean
from ..packs.declared_ops import ATTRIBUTE_KINDS
from ..packs.pack import Pack, op_key
from ..syntax import Arity, OpDeclaration, Parameter
from .attributes import KIND_WORDS, fits
from .report import Report
from .signatures import Signatures
from .walk import subterms


@dataclass
class Declarations:
    pack: Pack
    report: Report
    signatures: Signatures

    def check(self) -> None:
        for declaration in self.pack.declarations.values():
            self._op(declaration)
        self._recursive()

    def _op(self, declaration: OpDeclaration) -> None:
        self._known_already(declaration)
        self._attributes(declaration)
        variables = dict(declaration.type_variables)
        for name, types in declaration.type_variables:
            for written in types:
                if written not in NUMBERS:
                    message = f'"{written}" is not an element type'
                    note = did_you_mean(written, NUMBERS)
                    self.report.error(declaration.span, message, note)
            if name in NUMBERS:
                message = f"a type variable cannot have the name of the element type {name}"
                self.report.error(declaration.span, message)
        for parameters in (declaration.inputs, declaration.outputs):
            self._parameters(parameters, variables)

    def _known_already(self, declaration: OpDeclaration) -> None:
        key = op_key(declaration.op)
        if key in self.signatures.shipped():
            self.report.error(
                declaration.op.span, f"{key} is known already: it needs no declaration"
            )
        elif not declaration.op.domain:
            message = f"a declared op has a domain, as in op com.acme::{key}(...)"
            self.report.error(declaration.op.span, message)

    def _attributes(self, declaration: OpDeclaration) -> None:
        seen: set[str] = set()
        for each in declaration.attributes:
            if each.name in seen:
                self.report.error(each.span, f'attribute "{each.name}" is declared twice')
            seen.add(each.name)
            kind = ATTRIBUTE_KINDS.get(each.type)
            if kind is None:
                message = f'"{each.type}" is not a type of attributes'
                note = did_you_mean(each.type, ATTRIBUTE_KINDS)
                note = note or f"the types are {', '.join(ATTRIBUTE_KINDS)}"
                self.report.error(each.span, message, note)
            elif each.default is not None and not fits(kind, each.default):
                message = f'the default of "{each.name}" is not {KIND_WORDS[kind]}'
                self.report.error(each.default.span, message)

    def _parameters(
        self, parameters: Iterable[Parameter], variables: dict[str, tuple[str, ...]]
    ) -> None:
        listed = list(parameters)
        seen: set[str] = set()
        for each in listed:
            if each.name in seen:
                self.report.error(each.span, f'"{each.name}" is declared twice')
            seen.add(each.name)
            if each.type not in NUMBERS and each.type not in variables:
                message = f'"{each.type}" is neither an element type nor a type variable'
                note = did_you_mean(each.type, [*NUMBERS, *variables])
                note = note or f"declare it: where {each.type} in {{u8, i8}}"
                self.report.error(each.span, message, note)
            if each.arity is Arity.REPEATED and each is not listed[-1]:
                self.report.error(each.span, "only the last one can be a list")

    def _recursive(self) -> None:
        """No fragment stands inside itself."""
        for fragment in self.pack.fragments.values():
            if fragment.name in self._reached(fragment.name):
                message = f"pattern {fragment.name} stands inside itself"
                note = "a chain of nodes is written F*(x)"
                self.report.error(fragment.name_span, message, note)

    def _reached(self, name: str) -> set[str]:
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            for alternative in self.pack.fragments[waiting.pop()].alternatives:
                for term in subterms(alternative.term):
                    op = getattr(term, "op", None)
                    if op is None or op.domain or op.name not in self.pack.fragments:
                        continue
                    if op.name not in reached:
                        reached.add(op.name)
                        waiting.append(op.name)
        return reached
