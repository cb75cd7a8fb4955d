"""What the schemas of all versions of an op have in common."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from qrewrite.engine.schemas.known import Schema, Schemas

_SINGLE = ["com.microsoft::QuantizeLinear", "com.microsoft::DequantizeLinear"]


@cache
def _schemas() -> Schemas:
    return Schemas()


@cache
def _versions(op: str) -> tuple[Schema, ...]:
    """All versions of an op of ai.onnx, newest first; the one there is of another domain."""
    found = _schemas().schema(op)
    if found is None or "::" in op:
        return () if found is None else (found,)
    versions = [found]
    while versions[-1].since_version > 1:
        older = _schemas().schema(op, versions[-1].since_version - 1)
        if older is None:
            break
        versions.append(older)
    return tuple(versions)


@cache
def _has_one_output(op: str) -> bool:
    versions = _versions(op)
    return op in _SINGLE or (bool(versions) and all(each.max_outputs == 1 for each in versions))


def has_one_output(ops: Iterable[str]) -> bool:
    """Whether no version of any of the ops has more than one output."""
    return all(_has_one_output(op) for op in ops)


def constant_default(op: str, attribute: str) -> Any:
    """The default of an attribute if it is one in all versions that have it; else None."""
    specs = [each.attributes[attribute] for each in _versions(op) if attribute in each.attributes]
    defaults = [spec.default for spec in specs]
    return defaults[0] if defaults and all(each == defaults[0] for each in defaults) else None
