"""Names shared by all generated code of a program: equal text gets one name, so that rules share
work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ..diagnostics import failure
from ..functions import Function, functions
from ..packs.pack import Pack
from . import making, runtime


class Helpers:
    """Temporaries, helper functions and constants by their text, and the globals of generated
    code."""

    def __init__(self, pack: Pack, options: Mapping[str, Any]) -> None:
        self.pack = pack
        self.options = options
        self.globals: dict[str, Any] = {**runtime.environment(), **making.environment()}
        for function in functions().values():
            self.globals[f"call_{function.name}"] = known_arguments(function)
        self._temporaries: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self.sources: dict[str, str] = {}
        """Helper functions by name, for those who want to read them."""

    def temporary(self, text: str) -> str:
        """A variable that stands for the value of an expression, in every function."""
        return self._temporaries.setdefault(text, f"t{len(self._temporaries)}")

    def constant(self, key: str, value: Any) -> str:
        """The name of a value that cannot be written in the text."""
        if key not in self._constants:
            name = self._constants[key] = f"k{len(self._constants)}"
            self.globals[name] = value
        return self._constants[key]

    def python(self, name: str) -> str:
        """The global that holds a function of a Python module; the module is imported now."""
        found = self.pack.functions[name]
        key = f"python_{name}"
        if key not in self.globals:
            try:
                function = getattr(import_module(found.module), found.name)
            except (ImportError, AttributeError) as problem:
                raise failure(f"{name} cannot be imported: {problem}", found.span) from None
            self.globals[key] = function
        return key

    def function(self, parameters: str, body: str) -> str:
        """The name of a function of this body, indented by one space a level."""
        text = f"({parameters}):\n{body}"
        name = self._functions.get(text)
        if name is None:
            name = self._functions[text] = f"f{len(self._functions)}"
            source = f"def {name}{text}"
            self.sources[name] = source
            exec(compile(source, f"<qrewrite {name}>", "exec"), self.globals)
        return name


def known_arguments(function: Function) -> Callable[..., Any]:
    """The function, which yields None where a required argument is not known."""
    call = function.call
    optional = {n for n, each in enumerate(function.parameters) if not each.required}

    def checked(*arguments: Any) -> Any:
        for position, argument in enumerate(arguments):
            if argument is None and position not in optional:
                return None
        return call(*arguments)

    return checked
