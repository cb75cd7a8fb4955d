"""`--set OPTION=VALUE`: the text of an option as a value."""

from __future__ import annotations

import math
from collections.abc import Iterable

from qrewrite.engine.errors import QrewriteError

OptionValue = bool | int | float | str


class SettingError(QrewriteError):
    """A `--set` that is not OPTION=VALUE."""


def parse_settings(texts: Iterable[str]) -> dict[str, OptionValue]:
    """`["target=arm", "int8_activations=true"]` as a dictionary; a later one wins."""
    settings: dict[str, OptionValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise SettingError(f'--set takes OPTION=VALUE, not "{text}"')
        settings[name.strip()] = _value(value.strip())
    return settings


def _value(text: str) -> OptionValue:
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            value = number(text)
        except ValueError:
            continue
        if math.isfinite(value):
            return value
    return text
