"""Both sides of a rewrite evaluated over all codes of an input: do they agree?

Graphs of element-wise ops are computed as ONNX defines them, in the precision of their values, the
quantized ops of com.microsoft as onnxruntime's kernels compute them. Anything else, and whatever
depends on more than one quantized input, is not comparable: None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..errors import ModelError, Refused
from ..graph import Node, Value
from ..inference import type_of
from .elementwise import Kernel, NotComparable
from .transcendental import INEXACT, SLACK, kernels

Array = NDArray[Any]

_MOST_ELEMENTS = 1 << 22
_DEEPEST = 64
_SPARE_AXES = 8
"""Rank up to which a constant may vary: codes come first, so that all meet all its elements."""

_KERNELS: Mapping[float, Mapping[str, Kernel]] = {s: kernels(s) for s in (0.0, SLACK, -SLACK)}


def compare_codes(
    code: Value, outputs: Sequence[tuple[Value, Value]], nodes: Iterable[Node]
) -> float | None:
    """The largest difference in codes that a rewrite makes over all values of `code`.

    `code` is a quantized tensor of at most 8 bits, `outputs` are (old value, its replacement; the
    same where the old value is kept), `nodes` the new nodes. A float output must be the same bit by
    bit, else the difference is infinite. None if one side cannot be evaluated, or if its codes
    depend on the last bits of functions such as exp, which runtimes compute differently.
    """
    codes = all_codes(type_of(code))
    if codes is None:
        return None
    made = list(nodes)
    largest = 0.0
    for old, new in outputs:
        before = sure_content(old, {code: codes})
        after = sure_content(new, {code: codes}, made)
        if before is None or after is None or before.dtype != after.dtype:
            return None
        largest = max(largest, _difference(before, after))
    return largest


def all_codes(dtype: int) -> Array | None:
    """Every code of an integer type of at most 8 bits, along the first of nine axes."""
    limits = dtypes.integer_range(dtype)
    if limits is None or limits[1] - limits[0] > 255:
        return None
    codes = np.arange(limits[0], limits[1] + 1).astype(dtypes.numpy_dtype(dtype))
    return codes.reshape((-1,) + (1,) * _SPARE_AXES)


def _difference(before: Array, after: Array) -> float:
    if before.dtype.kind == "f":
        return 0.0 if np.array_equal(before, after, equal_nan=True) else math.inf
    distance = np.abs(before.astype(np.int64) - after.astype(np.int64))
    return float(distance.max(initial=0))


def sure_content(
    value: Value, known: Mapping[Value, Array], nodes: Sequence[Node] = ()
) -> Array | None:
    """The content of a value; None as well where the last bits of inexact functions decide it."""
    first = _Evaluation(nodes, known, 0.0)
    found = first.content(value)
    if found is None or not first.inexact:
        return found
    for slack in (SLACK, -SLACK):
        moved = _Evaluation(nodes, known, slack).content(value)
        if moved is None or not np.array_equal(found, moved, equal_nan=found.dtype.kind == "f"):
            return None
    return found


def evaluate(
    value: Value, known: Mapping[Value, Array], nodes: Iterable[Node] = ()
) -> Array | None:
    """The content of a value, given that of others; None if it does not follow from them.

    Constants are known. A node of `nodes` counts as the producer of its outputs before any other.
    """
    return _Evaluation(nodes, known, 0.0).content(value)


class _Evaluation:
    """One walk; results of inexact functions are moved by `slack`."""

    def __init__(self, nodes: Iterable[Node], known: Mapping[Value, Array], slack: float) -> None:
        self._producers = {out: node for node in nodes for out in node.outputs if out is not None}
        self._known = dict(known)
        self._kernels = _KERNELS[slack]
        self.inexact = False

    def content(self, value: Value) -> Array | None:
        try:
            return self.of(value, _DEEPEST)
        except (NotComparable, Refused, ModelError, ValueError):
            return None

    def of(self, value: Value, depth: int) -> Array:
        found = self._known.get(value)
        if found is None:
            node = self._producers.get(value)
            if node is None and value.constant:
                found = _constant(value)
            else:
                found = self._compute(node or value.producer, value, depth)
            self._known[value] = found
        return found

    def _compute(self, node: Node | None, value: Value, depth: int) -> Array:
        kernel = self._kernels.get(node.op) if node is not None else None
        if node is None or kernel is None or node.outputs[0] is not value or not depth:
            raise NotComparable
        self.inexact |= node.op in INEXACT
        inputs = [None if v is None else self.of(v, depth - 1) for v in node.inputs]
        shapes = [array.shape for array in inputs if array is not None]
        if math.prod(np.broadcast_shapes(*shapes)) > _MOST_ELEMENTS:
            raise NotComparable
        with np.errstate(all="ignore"):
            return kernel(node, inputs)


def _constant(value: Value) -> Array:
    tensor = value.tensor
    if tensor is not None and math.prod(tensor.dims) > _MOST_ELEMENTS:
        raise NotComparable
    array = value.array()
    if array.ndim > _SPARE_AXES:
        raise NotComparable
    return array
