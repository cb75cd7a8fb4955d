"""Options of a pack: what they may be set to, and strings from the command line made values."""

from __future__ import annotations

from collections.abc import Mapping

from ..diagnostics import Diagnostic, RuleFileError, did_you_mean, error
from ..syntax import Option, Setting
from .pack import Pack

WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def check_option(option: Option) -> list[Diagnostic]:
    """What is wrong with the declaration of an option."""
    kind = type(option.default)
    problems: list[Diagnostic] = []
    for choice in option.choices:
        if _fitting(choice, kind) is None:
            message = (
                f"{show(choice)} is not {KINDS[kind]}, as the default {show(option.default)} is"
            )
            problems.append(error(message, option.span))
    if option.choices and option.default not in option.choices:
        message = f"the default {show(option.default)} is not among the choices"
        problems.append(error(message, option.span))
    return problems


def settings(pack: Pack, given: Mapping[str, Setting]) -> dict[str, Setting]:
    """The value of every option: as given, else its default.

    A string given for an option of another type is converted (``"true"``, ``"7"``).
    Raises RuleFileError for every name that is no option and every value that does not fit.
    """
    values = {name: option.default for name, option in pack.options.items()}
    problems: list[Diagnostic] = []
    for name, value in given.items():
        option = pack.options.get(name)
        if option is None:
            note = did_you_mean(name, pack.options) or _known(pack)
            problems.append(error(f'pack {pack.name} has no option "{name}"', None, note))
            continue
        found = _fitting(value, type(option.default))
        if found is None:
            kind = KINDS[type(option.default)]
            problems.append(error(f'option "{name}" takes {kind}, not {show(value)}'))
        elif option.choices and found not in option.choices:
            allowed = ", ".join(show(choice) for choice in option.choices)
            message = f'option "{name}" cannot be {show(value)}'
            problems.append(error(message, None, f"it is one of {allowed}"))
        else:
            values[name] = found
    if problems:
        raise RuleFileError(problems)
    return values


def _known(pack: Pack) -> str:
    return f"its options are {', '.join(pack.options)}" if pack.options else "it has no options"


def _fitting(value: Setting, kind: type[Setting]) -> Setting | None:
    """``value`` as that type, or None; an int is a float too, a bool is no number."""
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return float(value)
    if not isinstance(value, str):
        return None
    if kind is bool:
        return WORDS.get(value.lower())
    try:
        return int(value) if kind is int else float(value)
    except ValueError:
        return None


def show(value: Setting) -> str:
    """As it is written in a rule file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
