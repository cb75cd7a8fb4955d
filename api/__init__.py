"""qrewrite: rewrite quantized ONNX models by rules.

    import qrewrite
    result = qrewrite.rewrite("model.onnx", "ort-cpu")
    result.save("fused.onnx")

The names below are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qrewrite.engine.errors import (
        CycleError,
        FileError,
        ModelError,
        QrewriteError,
        RuleError,
    )
    from qrewrite.loading import load_pack, load_rules
    from qrewrite.result import RewriteResult
    from qrewrite.rewriting import rewrite

__version__ = "0.1.0"

__all__ = [
    "CycleError",
    "FileError",
    "ModelError",
    "QrewriteError",
    "RewriteResult",
    "RuleError",
    "__version__",
    "load_pack",
    "load_rules",
    "rewrite",
]

_HOMES = {
    "RewriteResult": "result",
    "load_pack": "loading",
    "load_rules": "loading",
    "rewrite": "rewriting",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES.get(name, 'engine.errors')}")
    value: object = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
