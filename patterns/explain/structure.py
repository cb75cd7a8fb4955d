"""What a pattern wanted of the graph around a node, and what is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qrewrite.engine.graph import Node, Value

from ..compiler.conditions import add_conditions
from ..compiler.flat import Each, EachOperand, Flat, FlatNode, FlatValue, consumers_in
from ..compiler.places import Places
from ..compiler.repetition import Matching
from ..compiler.runtime import attr, default_of, equal_attribute
from ..compiler.steps import Bind, Candidates, Step, Steps, Test
from ..syntax import Quantifier, Rule, Span
from .anchored import things
from .interpreter import Environment, Interpreter
from .terms import value_name, written_as
from .values import node_text, nodes_named, origin, shown, users, value_type
from .words import text_of

_USES = re.compile(r"len\((\w+)\.uses\) == (\d+)")
_PRESENT = re.compile(r"(\w+(?:\[-?\d+\])?) is not None")
_COUNT = re.compile(r"len\((\w+)I\)")
_PLAIN = re.compile(r"plain\((\w+), (\w+)\)")
_OUTPUTS = re.compile(r"(\w+)O\b")


@dataclass(frozen=True, slots=True)
class Finding:
    """A requirement in the rule's words, what the graph has instead, and the rule's place."""

    words: str
    facts: tuple[str, ...]
    span: Span | None


@dataclass(frozen=True, slots=True)
class Stopped:
    """A pattern, or one that repeats inside it, and the step at which it failed."""

    rule: Rule
    flat: Flat
    places: Places
    steps: Sequence[Step]
    position: int
    environment: Environment
    interpreter: Interpreter

    @property
    def step(self) -> Step:
        return self.steps[self.position]

    def thing(self, variable: str) -> object:
        return things(self.flat, self.places).get(variable)

    def value(self, variable: str) -> Any:
        return self.interpreter.value(variable, self.environment)


def finding_of(stopped: Stopped) -> Finding:
    """Of a step about nodes, values or attributes."""
    step = stopped.step
    if isinstance(step, Candidates):
        return _no_consumer(stopped, step)
    assert isinstance(step, Test)
    if step.subject.endswith(".op"):
        return _other_op(stopped, step)
    for pattern, explain in _FORMS:
        found = pattern.search(step.expression)
        if found is not None:
            return explain(stopped, step, found)
    each = next((each for each in _eaches(stopped.flat) if each.span == step.span), None)
    if each is not None:
        return _repetition(stopped, each)
    said = step.words or (text_of(step.span) if step.span is not None else step.expression)
    return Finding(said, (), step.span)


def missing_nodes(stopped: Stopped, end: int) -> Iterator[str]:
    """Further nodes, up to step ``end``, of which the pattern says what is not there."""
    if not _asks_for_node(stopped.step):
        return
    environment = dict(stopped.environment)
    absent = {_variable(stopped.step)}
    outcomes = stopped.interpreter.outcomes(stopped.steps[:end], environment)
    for position, holds in outcomes.items():
        step = stopped.steps[position]
        if position <= stopped.position or holds or not _asks_for_node(step):
            continue
        variable = _variable(step)
        # Around a node that is another nothing is as the pattern says.
        if not variable.startswith(tuple(absent)):
            absent.add(variable)
            finding = finding_of(replace(stopped, position=position, environment=environment))
            yield from (f"also needs {finding.words}: {fact}" for fact in finding.facts)


def _variable(step: Step) -> str:
    """Of the node that a step asks for; its neighbours' begin with it."""
    assert isinstance(step, Test)
    found = _PRESENT.fullmatch(step.expression)
    return step.subject.removesuffix(".op") if found is None else found[1]


def _asks_for_node(step: Step) -> bool:
    if not isinstance(step, Test):
        return False
    found = _PRESENT.fullmatch(step.expression)
    return step.subject.endswith(".op") or (found is not None and found[1].endswith("p"))


# ---- nodes -------------------------------------------------------------------------------------


def _wanted(stopped: Stopped, variable: str) -> tuple[str, str, Span | None]:
    """The rule's words for the node at a variable, its ops, and the place in the rule."""
    node = stopped.thing(variable)
    if not isinstance(node, FlatNode):
        return "the pattern", "another op", None
    words, span = written_as(node, stopped.rule)
    names = sorted({op.rpartition("::")[2] for op in node.ops})
    return words, " or ".join(names[:4]) + (" ..." if len(names) > 4 else ""), span


def _other_op(stopped: Stopped, step: Test) -> Finding:
    variable = step.subject.removesuffix(".op")
    words, ops, span = _wanted(stopped, variable)
    node: Node = stopped.value(variable)
    if variable.endswith("p"):
        value: Value = stopped.value(variable[:-1])
        fact = f"{value.name!r} is made by {node_text(node)}, and {ops} is wanted"
    else:
        fact = f"the result goes to {node_text(node)}, and {ops} is wanted"
    return Finding(words, (fact,), span)


def _no_consumer(stopped: Stopped, step: Candidates) -> Finding:
    words, ops, span = _wanted(stopped, step.name)
    return Finding(words, (f"nothing takes the result, and {ops} is wanted",), span)


def _absent(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    variable = found[1]
    if variable.endswith("p"):
        words, ops, span = _wanted(stopped, variable)
        value: Value = stopped.value(variable[:-1])
        fact = f"{value.name!r} ({value_type(value)}) is {origin(value)}, and {ops} is wanted"
        return Finding(words, (fact,), span)
    each = next((each for each in _eaches(stopped.flat) if each.span == step.span), None)
    if each is not None:
        return _repetition(stopped, each)
    thing = stopped.thing(variable)
    name = value_name(thing) if isinstance(thing, FlatValue) else variable
    return Finding(f"operand {name}", ("it is absent",), step.span)


# ---- uses --------------------------------------------------------------------------------------


def _owned(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    variable = found[1]
    thing, value = stopped.thing(variable), stopped.value(variable)
    name = value_name(thing) if isinstance(thing, FlatValue) else value.name
    wanted = _consumer_ops(stopped, thing)
    nodes = users(value)
    others = list(nodes)
    for ops in wanted:
        taken = next((node for node in others if node.op in ops), None)
        if taken is not None:
            others.remove(taken)
    facts = []
    if value.is_output:
        facts.append(f"{value.name!r} is a graph output")
    if others and len(others) < len(nodes):
        facts.append(f"also feeds {nodes_named(others)}")
    elif others and len(nodes) != int(found[2]):
        facts.append(f"feeds {len(nodes)} nodes: {nodes_named(nodes)}")
    elif not nodes and not value.is_output:
        facts.append("nothing takes it")
    span = step.span
    if isinstance(thing, FlatValue) and isinstance(thing.producer, FlatNode):
        span = written_as(thing.producer, stopped.rule)[1]
    return Finding(f"owned {name}", tuple(facts), span)


def _consumer_ops(stopped: Stopped, thing: object) -> list[tuple[str, ...]]:
    if not isinstance(thing, FlatValue):
        return []
    found = consumers_in(stopped.flat).get(thing, [])
    return [node.ops for node in dict.fromkeys(found) if isinstance(node, FlatNode)]


def _outputs(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    words, _, span = _wanted(stopped, found[1])
    node: Node = stopped.value(found[1])
    used = [v.name for v in node.outputs if v is not None and (v.uses or v.is_output)]
    fact = f"{node_text(node)} has outputs in use beyond those of the rule: {', '.join(used)}"
    return Finding(words, (fact,), span)


# ---- operands and attributes -------------------------------------------------------------------


def _operand_count(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    words, _, span = _wanted(stopped, found[1])
    node: Node = stopped.value(found[1])
    count = len(node.inputs)
    wanted = step.words or "another number"
    plural = "operand" + "s" * (count != 1)
    return Finding(words, (f"{node_text(node)} has {count} {plural}, and {wanted} wanted",), span)


def _attributes(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    words, _, span = _wanted(stopped, found[1])
    node: Node = stopped.value(found[1])
    form = stopped.value(found[2])[node.op]
    facts = []
    for name, wanted in form.equal:
        if not equal_attribute(attr(node, name), wanted):
            facts.append(f"{name} is {shown(attr(node, name))}, and {shown(wanted)} is wanted")
    if not form.rest:
        for name in node.attributes:
            value, default = attr(node, name), default_of(node, name)
            if name not in form.covered and not equal_attribute(value, default):
                facts.append(f"{name} is {shown(value)}, and the rule takes its default alone")
    facts += [f"{name} is absent" for name in form.present if attr(node, name) is None]
    return Finding(f"attributes of {words}", tuple(facts), span)


def _number(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    value = stopped.value(found[1])
    fact = "it is absent" if value is None else f"it is {shown(value)}"
    return Finding(step.words, (fact,), step.span)


def _same(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    pair = [stopped.value(found[position]) for position in (1, 2)]
    names = " and ".join("none" if each is None else shown(each) for each in pair)
    return Finding(step.words or "one value in both places", (f"they are {names}",), step.span)


def _one_node(stopped: Stopped, step: Test, found: re.Match[str]) -> Finding:
    node = stopped.value(found[1])
    name = node_text(node) if isinstance(node, Node) else shown(node)
    return Finding(step.words or "two nodes", (f"{name} stands for two of the pattern",), step.span)


_FORMS = (
    (_USES, _owned),
    (_PLAIN, _attributes),
    (re.compile(r"is_number\((.+?), .*\)$"), _number),
    (re.compile(r"same(?:_zero_point)?\((\w+), (\w+)\)"), _same),
    (_COUNT, _operand_count),
    (_PRESENT, _absent),
    (re.compile(r"(\w+) is not (\w+)$"), _one_node),
    (re.compile(r"(\w+(?:\[-?\d+\])?) is (\w+)$"), _same),
    (_OUTPUTS, _outputs),
)


# ---- what repeats ------------------------------------------------------------------------------


def _eaches(flat: Flat) -> Iterator[Each]:
    yield from flat.eaches
    for node in flat.nodes:
        for operand in node.operands:
            if isinstance(operand, EachOperand):
                yield operand.each


def _repetition(stopped: Stopped, each: Each) -> Finding:
    """The first element that is not as written, and why."""
    rows = list(_elements(stopped, each))
    if each.quantifier is Quantifier.NO:
        return Finding("no use ...", ("a consumer has this form",), each.span)
    if not rows:
        return Finding(f"{each.quantifier.value} ...", ("there is none",), each.span)
    if each.quantifier is Quantifier.SOME:
        return Finding(_said(each.span), _uses(rows), each.span)
    for index, row in enumerate(rows):
        stops = [_run(stopped, flat, row) for flat in each.variants]
        furthest = max(stops, key=lambda stop: stop.position - len(stop.steps))
        if furthest.position < len(furthest.steps):
            inner = finding_of(furthest)
            where = f"element {index} of {len(rows)}, counted from 0:"
            return Finding(inner.words, (where, *inner.facts), inner.span or each.span)
    return Finding("...", ("the elements do not go together",), each.span)


def _said(span: Span) -> str:
    """What is asked of uses, on one line, without attributes that are left open."""
    return re.sub(r"\s+", " ", text_of(span).replace("<*_>", ""))


def _uses(rows: Iterable[tuple[Any, ...]]) -> tuple[str, ...]:
    consumers = [each for row in rows for each in row if isinstance(each, Node)]
    goes = f"it goes to {nodes_named(consumers)}" if consumers else "it has no use"
    return (f"{goes}, and that has not this form",)


def _elements(stopped: Stopped, each: Each) -> Iterable[tuple[Any, ...]]:
    """The operands of the call that goes through the elements."""
    bound = stopped.steps[stopped.position - 1]
    assert isinstance(bound, Bind)
    call = ast.parse(bound.expression, mode="eval").body
    assert isinstance(call, ast.Call)
    count = max(1, len(each.variants[0].entries))
    lists = [stopped.value(ast.unparse(argument)) for argument in call.args[:count]]
    return zip(*lists, strict=False)


def _run(stopped: Stopped, flat: Flat, row: tuple[Any, ...]) -> Stopped:
    arguments: dict[str, str] = {}
    steps, places = Steps(), Places(stopped.places, arguments)
    interpreter = stopped.interpreter
    matching = Matching(flat, interpreter.helpers, steps, places)
    names = [f"e{position}" for position in range(len(row))]
    if flat.entry_node is not None:
        matching.from_node(flat.entry_node, names[0])
    else:
        matching.from_values(list(zip(flat.entries, names, strict=True)))
    add_conditions(flat, interpreter.helpers, places, steps)
    environment = {**stopped.environment, **dict(zip(names, row, strict=True))}
    environment |= {inner: stopped.value(outside) for outside, inner in arguments.items()}
    stop = interpreter.run(steps.items, environment)
    return Stopped(
        stopped.rule, flat, places, steps.items, stop.position, stop.environment, interpreter
    )
