"""Tests of rules: equivalence, random quantized models, rules verified on graphs of their own.

Needs the extra `verify` (hypothesis, onnxruntime).  The names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .blame import Blame, blame
    from .compare import Comparison, compare_models
    from .equivalence import assert_equivalent, assert_idempotent
    from .matching import models_matching, near_misses
    from .random_models import qdq_models
    from .suite import assert_rule_holds, rule_names

_HOMES = {
    "Blame": "blame",
    "Comparison": "compare",
    "assert_equivalent": "equivalence",
    "assert_idempotent": "equivalence",
    "assert_rule_holds": "suite",
    "blame": "blame",
    "compare_models": "compare",
    "models_matching": "matching",
    "near_misses": "matching",
    "qdq_models": "random_models",
    "rule_names": "suite",
}

__all__ = [
    "Blame",
    "Comparison",
    "assert_equivalent",
    "assert_idempotent",
    "assert_rule_holds",
    "blame",
    "compare_models",
    "models_matching",
    "near_misses",
    "qdq_models",
    "rule_names",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
