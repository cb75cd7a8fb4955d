"""Element-wise ops whose results differ between runtimes in the last bits.

They are computed in float64 and moved by a *slack*, a bound on what an implementation in float32
may be off by: what holds for the slack of either sign holds for every runtime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..attributes import attribute
from ..graph import Node
from .elementwise import KERNELS, Array, Inputs, Kernel, NotComparable, table

SLACK = 2.0**-21
"""Of the result's magnitude, or of 1 where that is more: 4 to 8 units in the last place of a
float32. onnxruntime 1.32 is within 2.6 (Tanh)."""

_TABLE = "com.microsoft::QLinearSigmoid"

Function = Callable[[Node, Array], tuple[Array, Any]]
"""Node and float64 operand -> the result, and where it is inexact."""


def kernels(slack: float) -> Mapping[str, Kernel]:
    """Op -> what computes its first output; results of inexact ops are moved by `slack`."""
    moved = {op: _moved(function, slack) for op, function in FUNCTIONS.items()}
    moved["Pow"] = _pow(slack)
    moved[_TABLE] = table(moved["Sigmoid"])
    return KERNELS | moved


def _moved(function: Function, slack: float) -> Kernel:
    def kernel(node: Node, inputs: Inputs) -> Array:
        x = inputs[0]
        if x is None or x.dtype != np.float32:
            raise NotComparable
        exact, inexact = function(node, x.astype(np.float64))
        return _with_slack(exact, inexact, slack).astype(np.float32)

    return kernel


def _with_slack(exact: Array, inexact: Any, slack: float) -> Array:
    error = np.where(np.isfinite(exact) & inexact, slack * np.maximum(np.abs(exact), 1), 0)
    return np.asarray(exact + error)


def _pow(slack: float) -> Kernel:
    square = KERNELS["Pow"]

    def kernel(node: Node, inputs: Inputs) -> Array:
        x, exponent = inputs[0], inputs[1]
        if x is None or exponent is None or x.dtype != np.float32:
            raise NotComparable
        if (exponent == 2).all():
            return square(node, inputs)
        exact = np.power(x.astype(np.float64), exponent.astype(np.float64))
        return _with_slack(exact, True, slack).astype(np.float32)

    return kernel


def _everywhere(function: Callable[[Array], Any]) -> Function:
    return lambda node, x: (np.asarray(function(x)), True)


def _erf(x: Array) -> Array:
    return np.asarray([math.erf(each) for each in x.reshape(-1)]).reshape(x.shape)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(x, 0))


def _exponential_unit(x: Array, alpha: float, gamma: float, steep: float) -> tuple[Array, Any]:
    """gamma * x above 0, gamma * alpha * (exp(steep * x) - 1) below, where it is inexact."""
    single = np.float32(gamma) * x.astype(np.float32)
    below = gamma * alpha * np.expm1(steep * np.minimum(x, 0))
    return np.where(x > 0, single.astype(np.float64), below), x < 0


def _elu(node: Node, x: Array) -> tuple[Array, Any]:
    return _exponential_unit(x, attribute(node, "alpha", 1.0), 1.0, 1.0)


def _celu(node: Node, x: Array) -> tuple[Array, Any]:
    alpha = attribute(node, "alpha", 1.0)
    return _exponential_unit(x, alpha, 1.0, 1 / alpha)


def _selu(node: Node, x: Array) -> tuple[Array, Any]:
    alpha = attribute(node, "alpha", 1.6732632423543772)
    gamma = attribute(node, "gamma", 1.0507009873554805)
    return _exponential_unit(x, alpha, gamma, 1.0)


FUNCTIONS: Mapping[str, Function] = {
    "Tanh": _everywhere(np.tanh),
    "Sigmoid": _everywhere(_sigmoid),
    "Erf": _everywhere(_erf),
    "Exp": _everywhere(np.exp),
    "Log": _everywhere(np.log),
    "Sin": _everywhere(np.sin),
    "Cos": _everywhere(np.cos),
    "Softplus": _everywhere(_softplus),
    "Mish": _everywhere(lambda x: x * np.tanh(_softplus(x))),
    "Elu": _elu,
    "Celu": _celu,
    "Selu": _selu,
}
"""Op -> its float64 result, and where that is inexact."""

INEXACT = FUNCTIONS.keys() | {"Pow", _TABLE}
"""Ops whose results a slack moves."""
