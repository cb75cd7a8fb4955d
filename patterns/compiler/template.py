"""From a rule's template to the Python function that builds its replacement at a match.

The function is given the nodes and values of the match, evaluates what ``let`` binds, tests the
conditions on that, makes the new nodes inside out, and returns a ``Replacement``, or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..diagnostics import failure
from ..syntax import (
    Absent,
    Alternatives,
    Apply,
    Arity,
    Assign,
    Capture,
    Constant,
    Fragment,
    Group,
    Presence,
    Rest,
    Rule,
    Term,
)
from .flat import (
    AttributeOf,
    Binding,
    Computed,
    Flat,
    FlatChain,
    FlatValue,
    NotThere,
    OperandsOf,
    Scope,
)
from .helpers import Helpers
from .lines import Lines
from .places import Places
from .template_attributes import AttributeWriter
from .template_ops import is_quantizer, matched_quantizer, op_text
from .template_places import Loop, Made, Place, number_array
from .truth import Truth


class TemplateWriter:
    """Writes the lines that build the new nodes of one variant of a rule."""

    def __init__(self, rule: Rule, flat: Flat, helpers: Helpers, places: Places) -> None:
        self.rule = rule
        self.flat = flat
        self.helpers = helpers
        self.writer = Truth(flat, helpers, places, scalars=False)
        self.places = places
        self.lines = Lines()
        self.attributes = AttributeWriter(self.writer, helpers)
        self._forwarded: dict[str, str] = {}

    def write(self) -> Lines:
        for statement in self.rule.template:
            self._statement(statement)
        return self.lines

    # -- statements

    def _statement(self, statement: Assign) -> None:
        place, term = Place(self.flat.scope), statement.term
        if isinstance(term, Apply) and term.arity is Arity.REPEATED:
            self._mapped(statement, term, place)
            return
        if isinstance(term, Apply) and not self._is_chain(term, place):
            self.node(term, place, statement)
            return
        target, others = statement.targets[0], statement.targets[1:]
        if others or target.arity is Arity.REPEATED:
            raise failure("one name stands for one value here", statement.span)
        old = self._target(target.name, place)
        if old is None:
            return
        if isinstance(term, Apply):
            chain, value = self._chain(term, place)
            self.lines.add(f"replayed_as(graph, {chain}, {value}, nodes, forward, {old})")
            return
        new = self.operand(term, place)
        self.lines.add(f"forward.append(({old}, {new}))")
        self._forwarded[old] = new

    def _mapped(self, statement: Assign, term: Apply, place: Place) -> None:
        """``y... = Q(part)...``: one node an element."""
        with self._loop() as body:
            self.node(replace(term, arity=Arity.ONE), place, statement)
            body.close(self.writer)

    def _target(self, name: str, place: Place) -> str | None:
        found = place.scope.find(name)
        if isinstance(found, FlatValue):
            return self.writer.at(found)
        if isinstance(found, NotThere):
            return None
        raise failure(f'the pattern does not define "{name}"', self.rule.name_span)

    def _loop(self) -> Loop:
        return Loop(self.lines, self.rule.name_span)

    # -- operands

    def operands(self, terms: Sequence[Term], place: Place, microsoft: bool) -> str:
        """The text of a list of operands."""
        return f"[{', '.join(self._spliced(term, place, microsoft) for term in terms)}]"

    def _spliced(self, term: Term, place: Place, microsoft: bool) -> str:
        match term:
            case Rest(capture):
                found = place.scope.find(capture)
                if isinstance(found, OperandsOf):
                    return f"*{self.writer.at(found.node)}.inputs[{found.first}:]"
                if isinstance(found, NotThere):
                    return "*()"
                raise failure(f'"{capture}" is not a rest of operands', term.span)
            case Group(operands):
                return self._repeated(operands, place, microsoft)
            case Capture(arity=Arity.REPEATED) | Apply(arity=Arity.REPEATED):
                return self._repeated((replace(term, arity=Arity.ONE),), place, microsoft)
            case _:
                return self.operand(term, place, microsoft)

    def _repeated(self, terms: Sequence[Term], place: Place, microsoft: bool) -> str:
        listed = self.lines.name()
        self.lines.add(f"{listed} = []")
        with self._loop() as body:
            texts = [self.operand(term, place, microsoft) for term in terms]
            self.lines.add(f"{listed} += [{', '.join(texts)}]")
            body.close(self.writer)
        return f"*{listed}"

    def operand(self, term: Term, place: Place, microsoft: bool = False) -> str:
        text = self._operand(term, place, microsoft)
        if self.writer.lists and not self.lines.in_loop:
            raise failure("this is a list: write `...` behind it", term.span)
        return text

    def _operand(self, term: Term, place: Place, microsoft: bool) -> str:
        match term:
            case Capture(part=None):
                return self._capture(term, place)
            case Capture():
                return self._part(term, place, microsoft)
            case Apply():
                if term.arity is Arity.OPTIONAL and self._is_absent(term, place):
                    return "None"
                return self._applied(term, place)
            case Absent():
                return "None"
            case Constant(value):
                number = self.helpers.constant(f"number {value!r}", number_array(value))
                return f'as_value(graph, {number}, "number")'
            case Alternatives(choices):
                return self.operand(choices[0], place, microsoft)
            case _:
                raise failure("this cannot stand in a template", term.span)

    def _is_absent(self, term: Apply, place: Place) -> bool:
        """``DQ(b)?`` is there if ``b`` is."""
        if not term.operands or not isinstance(term.operands[0], Capture):
            return False
        found = place.scope.find(term.operands[0].name)
        return isinstance(found, NotThere) or (isinstance(found, Computed) and found.absent)

    def _capture(self, term: Capture, place: Place) -> str:
        built = place.built(term.name)
        if built is not None:
            return built.text
        found = place.scope.find(term.name)
        match found:
            case FlatValue():
                text = self.writer.at(found)
                return self._forwarded.get(text, text)
            case Computed(absent=False):
                code = self.writer.of_binding(found, term.span, False).text
                return f"as_value(graph, {code}, {self._hint(found)})"
            case AttributeOf():
                code = self.writer.of_binding(found, term.span, False).text
                return f"as_value(graph, {code}, {self._hint_of_anchor(term.name)})"
            case NotThere() | Computed():
                if term.arity is not Arity.OPTIONAL:
                    note = f"write `{term.name}?` to leave the operand out with it"
                    raise failure(f'"{term.name}" may be absent', term.span, note)
                return "None"
            case _:
                raise failure(f'"{term.name}" is not a value', term.span)

    def _part(self, term: Capture, place: Place, microsoft: bool) -> str:
        found, part = place.scope.find(term.name), term.part
        assert part is not None
        optional = term.arity is Arity.OPTIONAL
        if isinstance(found, Computed) and not found.absent:
            text = self._part_of_computed(found, part, optional, term)
        elif isinstance(found, FlatValue):
            text = self._part_of_value(found, part, optional, term)
        elif isinstance(found, NotThere | Computed) and optional:
            return "None"
        else:
            raise failure(f'"{term.name}" has no {part} here', term.span)
        if text == "None" or not microsoft or part not in ("scale", "zero_point"):
            return text
        if part == "zero_point" and optional:
            return f"(None if (z := {text}) is None else scalar(graph, z))"
        return f"scalar(graph, {text})"

    def _part_of_computed(self, found: Computed, part: str, optional: bool, term: Capture) -> str:
        code = self.writer.of_binding(found, term.span, False).text
        hint = f"{self._hint(found)} + '_{part}'"
        if part == "zero_point" and optional:
            known = f"(z := {code}.zero_point) is None"
            return f"(None if {known} else as_value(graph, z, {hint}))"
        return f"as_value(graph, part({code}, {part!r}), {hint})"

    def _part_of_value(self, found: FlatValue, part: str, optional: bool, term: Capture) -> str:
        value = self.flat.part(found, part)
        if optional and (value is None or isinstance(value, NotThere)):
            # y.scale? of a result that has no Q in this variant
            return "None"
        if not isinstance(value, FlatValue):
            raise failure(f'"{found.name}.{part}" is not an operand', term.span)
        text = self.writer.at(value)
        if part != "zero_point" or optional:
            return text
        scale = self.flat.part(found, "scale")
        where = self.writer.at(scale) if isinstance(scale, FlatValue) else "None"
        data = self.writer.at(found)
        return f"zero_point(graph, {text}, {data}, {where}, {data}.name + '_zero_point')"

    def _hint(self, found: Computed) -> str:
        """A new constant is named after the first captured value of its expression."""
        if found.named_after is None:
            return self._hint_of_anchor(found.name)
        return f"{self.writer.at(found.named_after)}.name + '_{found.name}'"

    def _hint_of_anchor(self, name: str) -> str:
        return f"(n.name or n.op) + '_{name}'"

    # -- nodes

    def _applied(self, term: Apply, place: Place) -> str:
        if self._is_chain(term, place):
            return self._replay(term, place)
        return self.node(term, place, None)

    def _is_chain(self, term: Apply, place: Place) -> bool:
        return isinstance(place.scope.find(term.op.name), FlatChain) and not term.op.domain

    def _replay(self, term: Apply, place: Place) -> str:
        chain, value = self._chain(term, place)
        result = self.lines.name()
        self.lines.add(f"{result} = replayed(graph, {chain}, {value}, nodes)")
        return result

    def _chain(self, term: Apply, place: Place) -> tuple[str, str]:
        """The nodes of a chain, and the value on which they are replayed."""
        chain = place.scope.find(term.op.name)
        assert isinstance(chain, FlatChain)
        if len(term.operands) != 1:
            raise failure("a chain is replayed on one value", term.span)
        return self.writer.at(chain), self.operand(term.operands[0], place)

    def node(self, term: Apply, place: Place, statement: Assign | None) -> str:
        """Lines that make a node; the text of its first output."""
        if term.presence is not Presence.ONCE:
            raise failure(
                "a template says what there is: ?, * and + have no meaning here", term.span
            )
        fragment = self.helpers.pack.fragments.get(term.op.name)
        if fragment is not None and not term.op.domain and place.scope.find(term.op.name) is None:
            return self._fragment(term, fragment, place, statement)
        op = op_text(term.op, place.scope, self.writer, self.helpers)
        operands = self.operands(term.operands, place, op.microsoft)
        outputs, first = self._outputs(statement, place)
        name, attributes = op.text, self.attributes.write(term, op.text, place.scope, self.lines)
        if is_quantizer(op.text):
            name = self._quantizer(op.text, term, statement, place, attributes)
        self.lines.add(f"nodes.append(graph.new_node({name}, {operands}, {outputs}, {attributes}))")
        return first

    def _outputs(self, statement: Assign | None, place: Place) -> tuple[str, str]:
        """The list of outputs, and the first of them."""
        if statement is None:
            name = self.lines.name()
            self.lines.add(f"{name} = graph.new_value()")
            return f"[{name}]", name
        texts: list[str] = []
        for target in statement.targets:
            if target.arity is Arity.REPEATED and not self.lines.in_loop:
                found = place.scope.find(target.name) or self.flat.scope.find(target.name)
                if not isinstance(found, FlatValue) or found.each is None:
                    raise failure(f'"{target.name}" is not a list', target.span)
                texts.append(f"*{self.places.at(found)}")
            else:
                texts.append(self._target(target.name, Place(self.flat.scope)) or "None")
        return f"[{', '.join(texts)}]", texts[0]

    def _quantizer(
        self, op: str, term: Apply, statement: Assign | None, place: Place, attributes: str
    ) -> str:
        """The domain of a quantizing op is that of the one that had this scale before."""
        tensor = self._tensor_of(op, term, statement, place)
        like = matched_quantizer(tensor, self.flat)
        where = "None" if like is None else self.writer.at(like)
        code = "None"
        if isinstance(tensor, FlatValue | Computed):
            code = self.writer.of_binding(tensor, term.span, False).text
        kind = f"type_part({code})" if code != "None" else "0"
        return f"quantizer(graph, {op}, {where}, {kind}, {attributes})"

    def _tensor_of(
        self, op: str, term: Apply, statement: Assign | None, place: Place
    ) -> Binding | None:
        """The quantized tensor of a Q or DQ: whose scale it has, else what it reads or makes."""
        operands = [each if isinstance(each, Capture) else None for each in term.operands]
        scale = operands[1] if len(operands) > 1 else None
        if scale is not None and scale.part is not None:
            return place.scope.find(scale.name)
        if "Dequantize" in op:
            codes = operands[0] if operands else None
            return None if codes is None else place.scope.find(codes.name)
        return None if statement is None else self.flat.scope.find(statement.targets[0].name)

    def _fragment(
        self, term: Apply, fragment: Fragment, place: Place, statement: Assign | None
    ) -> str:
        """A fragment builds its first alternative."""
        scope = Scope()
        made: list[tuple[str, Made]] = []
        for parameter, argument in zip(fragment.parameters, term.operands, strict=False):
            found: Binding | None = None
            if isinstance(argument, Capture) and argument.part is None:
                found = place.scope.find(argument.name)
                if place.built(argument.name) is not None:
                    found = None
            if found is not None:
                scope.names[parameter] = found
            else:
                made.append((parameter, Made(self.operand(argument, place))))
        if fragment.result is not None and statement is not None:
            found = self.flat.scope.find(statement.targets[0].name)
            if found is not None:
                scope.names[fragment.result] = found
        body = fragment.alternatives[0].term
        if not isinstance(body, Apply):
            raise failure(f'"{fragment.name}" is no node', term.span)
        return self.node(body, Place(scope, tuple(made)), statement)
