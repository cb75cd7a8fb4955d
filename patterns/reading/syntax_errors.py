"""lark's complaints in words of the language: what was expected, before what, the likely slip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ..diagnostics import Diagnostic, error, nearest
from ..syntax import Source, Span
from .expectations import expectation

SHORTEST_SLIP = 3
"""Letters of a word that is taken for a misspelt keyword."""

SLIPS = {
    "'": 'a string stands in double quotes, as in "x86"',
    ";": "nothing ends a statement; conditions are separated by commas",
    "!": "write not, or != for unequal",
    "\N{LEFT DOUBLE QUOTATION MARK}": 'a string stands in straight double quotes, as in "x86"',
    "\N{RIGHTWARDS ARROW}": "the arrow of a rule is written =>",
    "\N{RIGHTWARDS DOUBLE ARROW}": "the arrow of a rule is written =>",
    "\N{HORIZONTAL ELLIPSIS}": "repetition is written with three dots, ...",
}


def describe(problem: UnexpectedInput, parser: Lark, source: Source) -> Diagnostic:
    """The error for what lark did not expect."""
    # lark's LALR parser hands itself over with each error; its stubs leave the attribute out.
    state: InteractiveParser | None = getattr(problem, "interactive_parser", None)
    literals = literal_terminals(parser)
    accepted: set[str] = set()
    if state is not None:
        accepted = state.accepts()  # type: ignore[no-untyped-call]  # lark leaves it untyped
    if isinstance(problem, UnexpectedCharacters):
        return _character(problem, accepted, literals, source)
    assert isinstance(problem, UnexpectedToken)
    token = problem.token
    if state is not None:
        slip = _misspelt(state, literals, source)
        if slip is not None:
            return slip
    expected = expectation(accepted, literals)
    note = ""
    if token.type == "$END":
        place = Span(source, *(_end(token) * 2))
        return error(f"expected {expected} before the end of the file", place)
    if token.type == "NAME":
        note = _suggestion(token, accepted, literals) or ""
    elif token.type == "EQUAL" and "EQ" in accepted:
        note = "equality is written =="
    return error(f"expected {expected} before {_quoted(token)}", _span(token, source), note)


def literal_terminals(parser: Lark) -> dict[str, str]:
    """The text of every terminal that is a keyword or a mark."""
    return {
        terminal.name: terminal.pattern.value
        for terminal in parser.terminals
        if isinstance(terminal.pattern, PatternStr)
    }


def _span(token: Token, source: Source) -> Span:
    line, column = token.line or 1, token.column or 1
    return Span(source, line, column, token.end_line or line, token.end_column or column + 1)


def _end(token: Token) -> tuple[int, int]:
    return token.end_line or 1, token.end_column or 1


def _quoted(token: Token) -> str:
    """The text found, shortened; a string keeps its own quotes."""
    text = str(token) if len(token) <= 40 else f"{token[:40]}…"
    return f"the string {text}" if token.type == "STRING" else f'"{text}"'


def _suggestion(word: str, accepted: Iterable[str], literals: Mapping[str, str]) -> str | None:
    """A note naming the keyword among the accepted ones that a word was probably meant to be."""
    keywords = [literals[name] for name in accepted if literals.get(name, "").isalpha()]
    found = nearest(word, keywords) if len(word) >= SHORTEST_SLIP else None
    return None if found is None else f'did you mean "{found}"?'


def _misspelt(
    state: InteractiveParser, literals: Mapping[str, str], source: Source
) -> Diagnostic | None:
    """An error for the word before the one at fault, if that was read as a name by mistake.

    ``wher x == 1`` fails at ``x``: until then ``wher`` could be the name of a result.
    """
    values, states = state.parser_state.value_stack, state.parser_state.state_stack
    if len(states) < 2 or not values or getattr(values[-1], "type", "") != "NAME":
        return None
    word = values[-1]
    accepted = state.parser_state.parse_conf.parse_table.states[states[-2]]
    note = _suggestion(word, accepted, literals)
    if note is None:
        return None
    return error(f'"{word}" is not a word of the language', _span(word, source), note)


def _character(
    problem: UnexpectedCharacters,
    accepted: set[str],
    literals: Mapping[str, str],
    source: Source,
) -> Diagnostic:
    place = Span(source, problem.line, problem.column, problem.line, problem.column + 1)
    character = problem.char
    if character == '"':
        return error(
            "a string ends on the line it starts on", place, 'a quote in it is written \\"'
        )
    shown = f'"{character}"' if character.isprintable() else f"U+{ord(character):04X}"
    message = f"expected {expectation(accepted, literals)} before {shown}"
    return error(message, place, SLIPS.get(character, ""))
