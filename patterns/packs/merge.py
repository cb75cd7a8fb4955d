"""From layers to one Pack: parents first, rules replaced and switched off by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..diagnostics import Diagnostic, RuleFileError, did_you_mean, error, in_text_order
from ..syntax import (
    File,
    Fragment,
    Guard,
    OpDeclaration,
    OpSet,
    Option,
    PackHeader,
    Phase,
    Property,
    Rule,
    Span,
)
from .layer import Layer, python_imports
from .options import check_option
from .pack import DEFAULT_PHASE, Pack, PackRule, PythonFunction, op_key
from .phases import merge_phases

Definition = OpSet | Property | Fragment | Guard | OpDeclaration | PythonFunction
"""What a name stands for in the whole pack."""
D = TypeVar("D", OpSet, Property, Fragment, Guard, PythonFunction)


@dataclass(frozen=True, slots=True)
class Lineage:
    """A pack that was asked for: its layer and those of its ancestors, ancestors first."""

    layers: tuple[Layer, ...]


@dataclass(slots=True)
class _Merge:
    """What the layers so far amount to."""

    phases: tuple[str, ...] = ()
    options: dict[str, Option] = field(default_factory=dict)
    needs: dict[str, int] = field(default_factory=dict)
    needs_of: dict[str, Mapping[str, int]] = field(default_factory=dict)
    switched_off: set[str] = field(default_factory=set)
    definitions: dict[str, tuple[Definition, str]] = field(default_factory=dict)
    declarations: dict[str, OpDeclaration] = field(default_factory=dict)
    rules: dict[str, tuple[PackRule, int]] = field(default_factory=dict)
    """A rule and the index of the lineage that brought it."""
    problems: list[Diagnostic] = field(default_factory=list)


def merge(prelude: tuple[File, ...], lineages: Sequence[Lineage]) -> Pack:
    """One pack out of several asked for; of a rule's name, the last lineage's stands.

    Raises RuleFileError with every name that is unknown, taken twice or out of place.
    """
    state = _Merge()
    _define(state, prelude, "the prelude")
    merged: list[Layer] = []
    for index, lineage in enumerate(lineages):
        for layer in lineage.layers:
            if all(layer.files != other.files for other in merged):
                merged.append(layer)
                _add_layer(state, layer, index)
    if state.problems:
        raise RuleFileError(in_text_order(state.problems))
    asked = [lineage.layers[-1] for lineage in lineages]
    order = {phase: position for position, phase in enumerate(state.phases)}
    rules = sorted(
        (rule for rule, _ in state.rules.values()), key=lambda rule: (order[rule.phase], rule.name)
    )
    return Pack(
        name="+".join(layer.name for layer in asked),
        title=", ".join(layer.header.title for layer in asked if layer.header is not None),
        parents=tuple(dict.fromkeys(layer.name for layer in merged)),
        phases=state.phases,
        options=state.options,
        needs=state.needs,
        needs_of=state.needs_of,
        switched_off=frozenset(state.switched_off) - state.rules.keys(),
        op_sets=_of(state, OpSet),
        properties=_of(state, Property),
        fragments=_of(state, Fragment),
        guards=_of(state, Guard),
        declarations=state.declarations,
        functions=_of(state, PythonFunction),
        rules=tuple(rules),
        sources=tuple(
            file.source for file in (*prelude, *(f for layer in merged for f in layer.files))
        ),
    )


def _of(state: _Merge, kind: type[D]) -> dict[str, D]:
    return {
        name: found for name, (found, _) in state.definitions.items() if isinstance(found, kind)
    }


def _add_layer(state: _Merge, layer: Layer, index: int) -> None:
    if layer.header is not None:
        _add_header(state, layer.header)
    elif not state.phases:
        state.phases = _phases_named(layer) or (DEFAULT_PHASE,)
    state.needs_of[layer.name] = dict(state.needs)
    _define(state, layer.files, layer.name)
    taken: dict[str, Rule] = {}
    for rule, phase in _rules(layer.files):
        if rule.name in taken:
            first = taken[rule.name].name_span
            state.problems.append(_twice(f'rule "{rule.name}"', rule.name_span, first))
            continue
        taken[rule.name] = rule
        _add_rule(state, layer, rule, phase, index)


def _twice(what: str, span: Span, first: Span) -> Diagnostic:
    note = f"the other is at {first.source.name}:{first.line}:{first.column}"
    return error(f"{what} is defined twice", span, note)


def _add_header(state: _Merge, header: PackHeader) -> None:
    phases, problem = merge_phases(state.phases, header)
    state.phases = phases
    if problem is not None:
        state.problems.append(problem)
    for domain, version in header.needs:
        state.needs[domain] = max(version, state.needs.get(domain, 0))
    own: dict[str, Option] = {}
    for option in header.options:
        if option.name in own:
            state.problems.append(
                _twice(f'option "{option.name}"', option.span, own[option.name].span)
            )
        own[option.name] = option
        state.problems += check_option(option)
    state.options.update(own)
    for name in header.without:
        state.switched_off.add(name)
        if state.rules.pop(name, None) is None:
            note = did_you_mean(name, state.rules)
            state.problems.append(error(f'no parent has a rule "{name}"', header.span, note))


def _phases_named(layer: Layer) -> tuple[str, ...]:
    """The phases of rule files that stand alone: as they are first named."""
    return tuple(dict.fromkeys(phase for _, phase in _rules(layer.files) if phase is not None))


def _rules(files: Sequence[File]) -> Iterator[tuple[Rule, str | None]]:
    """The rules and the phases they name: by ``in PHASE``, else by ``phase PHASE`` before them."""
    for file in files:
        current: str | None = None
        for item in file.items:
            if isinstance(item, Phase):
                current = item.name
            elif isinstance(item, Rule):
                yield item, item.phase or current


def _add_rule(state: _Merge, layer: Layer, rule: Rule, phase: str | None, index: int) -> None:
    if phase is None:
        phase = DEFAULT_PHASE if DEFAULT_PHASE in state.phases else state.phases[-1]
    elif phase not in state.phases:
        note = did_you_mean(phase, state.phases) or f"the phases are {', '.join(state.phases)}"
        state.problems.append(error(f'there is no phase "{phase}"', rule.name_span, note))
        return
    present = state.rules.get(rule.name)
    if rule.override and present is None:
        note = did_you_mean(rule.name, state.rules)
        state.problems.append(
            error(f'there is no rule "{rule.name}" to override', rule.name_span, note)
        )
    elif present is not None and present[1] == index and not rule.override:
        state.problems.append(
            error(
                f'rule "{rule.name}" is already defined in {present[0].pack}',
                rule.name_span,
                'a rule that stands in for a parent\'s says "override"',
            )
        )
    # Last in its dictionary, so that the order never depends on what it replaced.
    state.rules.pop(rule.name, None)
    state.rules[rule.name] = (PackRule(rule, layer.name, phase), index)


def _define(state: _Merge, files: tuple[File, ...], owner: str) -> None:
    """Enter the names that files define; one name has one meaning in the whole pack."""
    for name, definition, span in _definitions(files):
        present = state.definitions.get(name)
        if present is not None and present[0] != definition:
            what = f'"{name}" is already defined in {present[1]}'
            state.problems.append(error(what, span, _place(present[0])))
        elif present is None:
            state.definitions[name] = (definition, owner)
    for file in files:
        for item in file.items:
            if isinstance(item, OpDeclaration):
                known = state.declarations.setdefault(op_key(item.op), item)
                if known != item:
                    state.problems.append(_twice(f"op {op_key(item.op)}", item.span, known.span))


def _place(definition: Definition) -> str:
    span = definition.span
    return f"it is at {span.source.name}:{span.line}:{span.column}"


def _definitions(files: tuple[File, ...]) -> Iterator[tuple[str, Definition, Span]]:
    for file in files:
        for item in file.items:
            if isinstance(item, (OpSet, Property, Fragment, Guard)):
                yield item.name, item, item.name_span
    for python in python_imports(files):
        for name in python.names:
            yield name, PythonFunction(python.module, name, python.span), python.span
