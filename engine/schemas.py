"""Operator schemas by op and opset version."""

from __future__ import annotations

from collections.abc import Iterable


class Schema:
    """What an op takes and gives at one version."""


class Schemas:
    """Schemas of onnx, of com.microsoft, and of declared custom ops."""

    def __init__(self, declared: Iterable[Schema] = ()) -> None:
        self._declared = tuple(declared)
