"""The functions that rules can call: pure, few, and each with a sentence that says what it does.

A condition that calls one with something that is not known fails; a ``let`` that does makes the
rule not fire.
"""

from __future__ import annotations

from functools import cache

from . import constants, graph, grids, packing, quantization, tables
from .function import Accepts, Function, Parameter, Result

__all__ = ["Accepts", "Function", "Parameter", "Result", "functions"]


@cache
def functions() -> dict[str, Function]:
    """All functions by name; not to be changed."""
    modules = (graph, grids, constants, quantization, packing, tables)
    return {each.name: each for module in modules for each in module.functions()}
