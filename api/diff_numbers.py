"""The numeric difference of two models on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrewrite.engine import dtypes
from qrewrite.engine.errors import QrewriteError
from qrewrite.engine.inference import shape_of, type_of
from qrewrite.engine.io.models import read_model

Arrays = Mapping[str, NDArray[Any]]
UNKNOWN_SIZE = 2
"""What a dimension that is not known is taken for, in random inputs."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Of one graph output."""

    output: str
    largest: float
    mean: float
    share: float
    """Of the elements that differ."""
    cosine: float


def random_inputs(model: str | PathLike[str], seed: int = 0) -> dict[str, NDArray[Any]]:
    """Values for every graph input: integers over their whole range, floats around 0."""
    random = np.random.default_rng(seed)
    found: dict[str, NDArray[Any]] = {}
    for value in read_model(model).graph.inputs:
        if value.tensor is not None:
            continue
        shape = [UNKNOWN_SIZE if size is None else size for size in shape_of(value) or ()]
        kind = type_of(value)
        if not kind:
            raise QrewriteError(f"graph input {value.name!r} has no element type: give --inputs")
        bounds = dtypes.integer_range(kind)
        dtype = dtypes.numpy_dtype(kind)
        if dtype == np.bool_:
            found[value.name] = random.random(shape) < 0.5
        elif bounds is not None and dtype.kind in "iu":
            # Wide integers are indices or lengths: small ones are more likely to be valid.
            low, high = bounds if dtype.itemsize <= 2 else (0, 1)
            found[value.name] = random.integers(low, high, shape, endpoint=True).astype(dtype)
        else:
            found[value.name] = random.normal(0, 1, shape).astype(dtype)
    return found


def numbers(
    first: str | PathLike[str], second: str | PathLike[str], inputs: Arrays
) -> tuple[Numbers, ...]:
    """Run both in onnxruntime, all optimizations disabled; of every output that both have.

    QrewriteError if onnxruntime is not installed, or does not run a model on these inputs.
    """
    results = [_run(path, inputs) for path in (first, second)]
    return tuple(
        _compared(name, results[0][name], results[1][name])
        for name in results[0]
        if name in results[1]
    )


def _run(path: str | PathLike[str], inputs: Arrays) -> dict[str, NDArray[Any]]:
    try:
        import onnxruntime
    except ImportError:
        raise QrewriteError(
            "the numeric difference needs onnxruntime, which is not installed "
            "(pip install onnxruntime, or give --structure)"
        ) from None
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        wanted = {value.name for value in session.get_inputs()}
        names = [value.name for value in session.get_outputs()]
        given = {name: array for name, array in inputs.items() if name in wanted}
        return dict(zip(names, session.run(names, given), strict=True))
    except Exception as error:  # onnxruntime has an exception of its own for every status
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise QrewriteError(f"{path}: onnxruntime does not run it: {first_line}") from None


def _compared(name: str, a: NDArray[Any], b: NDArray[Any]) -> Numbers:
    if a.shape != b.shape or a.dtype.kind not in "biuf":
        same = a.shape == b.shape and bool(np.all(a == b))
        gap = 0.0 if same else float("inf")
        return Numbers(name, gap, gap, float(not same), float(same))
    x, y = (array.astype(np.float64).reshape(-1) for array in (a, b))
    with np.errstate(all="ignore"):
        gap_of = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
        lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
        cosine = float(x @ y / lengths) if lengths else float(bool(np.all(x == y)))
    if not gap_of.size:
        return Numbers(name, 0.0, 0.0, 0.0, 1.0)
    gap_of = np.where(np.isnan(gap_of), np.inf, gap_of)
    return Numbers(
        name, float(gap_of.max()), float(gap_of.mean()), float(np.mean(gap_of > 0)), cosine
    )
