"""Shapes, attributes and constant operands of the ops of patterns, one function an op.

A function settles what is not settled yet so that the node is valid; result shapes come from ONNX's
shape inference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .draws import chance, pick
from .expand_pattern import Unsatisfiable
from .site import SAME_SHAPE, Shape, Site

ANY_SHAPES: list[Shape] = [(2, 3), (4,), (1, 2, 3), (2, 1, 2, 2), (1, 1, 2, 2, 2)]
EXHAUSTIVE: list[Shape] = [(256,), (16, 16), (1, 4, 8, 8)]
RARE_SHAPES: list[Shape] = [(), (0,), (0, 3), (1,)]

Settle = Callable[[Site], None]


def elementwise_shapes(site: Site) -> list[Shape]:
    return site.solver.prefer([*ANY_SHAPES, *EXHAUSTIVE], RARE_SHAPES, 15)


def unary(site: Site) -> None:
    x = site.choose_shape(0, elementwise_shapes(site))
    if not x and site.node.op in ("Softmax", "LogSoftmax"):
        raise Unsatisfiable("Softmax of a scalar")
    for name, values in UNARY_ATTRIBUTES.get(site.node.op, ()):
        site.attribute(name, values)


UNARY_ATTRIBUTES: dict[str, tuple[tuple[str, tuple[object, ...]], ...]] = {
    "LeakyRelu": (("alpha", (0.1, 0.5, -0.25, 1.0, 2.0)),),
    "HardSigmoid": (("alpha", (0.1, 1.0)), ("beta", (0.1, 0.0))),
    "Elu": (("alpha", (0.5,)),),
    "Softmax": (("axis", (0, -1)),),
    "LogSoftmax": (("axis", (0, -1)),),
}


def clip(site: Site) -> None:
    site.choose_shape(0, elementwise_shapes(site))
    bounds = pick(site.draw, [(-1e3, 1e3), (0.0, 6.0), (-1.0, 1.0), (0.0, 1e3), (2.0, 1.0)])
    if site.opset < 11:
        site.attribute("min", (bounds[0],))
        site.attribute("max", (bounds[1],))
        return
    for index, bound in ((1, bounds[0]), (2, bounds[1])):
        if site.has(index):
            site.values(index, np.asarray(bound))


def cast(site: Site) -> None:
    site.choose_shape(0, elementwise_shapes(site))
    numbers = {
        "f32": 1,
        "u8": 2,
        "i8": 3,
        "i32": 6,
        "i64": 7,
        "f16": 10,
        "bool": 9,
        "u16": 4,
        "i16": 5,
    }
    result = site.world.dtypes[site.node.outputs[0]]
    if result not in numbers:
        raise Unsatisfiable("Cast to a type that is not made here")
    site.attribute("to", (numbers[result],), required=True)


def broadcast(site: Site) -> None:
    """Operands that broadcast, of which some may be known."""
    known = [site.shape(i) for i in range(len(site.node.inputs)) if site.has(i)]
    shapes = [shape for shape in known if shape is not None]
    target = shapes[0] if shapes else pick(site.draw, elementwise_shapes(site))
    if not shapes and len(known) == 2 and chance(site.draw, 8):
        site.choose_shape(0, [(256, 1)])
        site.choose_shape(1, [(1, 256)])
        return
    for index in range(len(site.node.inputs)):
        if site.has(index):
            ones = tuple(1 if i % 2 else n for i, n in enumerate(target))
            site.choose_shape(index, [target, target, target[1:], ones, ()] if target else [()])


# ---- products ---------------------------------------------------------------------------------


def matmul(site: Site) -> None:
    rows, columns = pick(site.draw, [2, 3, 1]), pick(site.draw, [3, 2, 1])
    inner = pick(site.draw, [2, 4, 1, 9, 32])
    left = site.shape(0)
    right = site.shape(1)
    if left is None and right is not None:
        inner = right[-2] if len(right) > 1 else right[0]
    a = site.choose_shape(0, [(rows, inner), (2, rows, inner), (2, 1, rows, inner), (inner,)])
    if not a:
        raise Unsatisfiable("MatMul of a scalar")
    inner = a[-1]
    batch = a[:-2]
    options: list[Shape] = [(inner, columns), (inner, inner), (*batch, inner, columns), (inner,)]
    b = site.choose_shape(1, options)
    if not b or (b[-2] if len(b) > 1 else b[0]) != inner:
        raise Unsatisfiable("MatMul operands do not fit")


def matmul_to_float(site: Site) -> None:
    """com.microsoft.MatMulIntegerToFloat: codes, scales, zero points, and a bias."""
    matmul(site)
    left, right = (np.empty(site.shape(index) or (1,)) for index in (0, 1))
    site.shapes.set(site.node.outputs[0], np.matmul(left, right).shape)
    columns = right.shape[-1]
    site.values(2, np.asarray(0.05), prefer_constant=70)
    site.values(3, np.asarray(0.02), np.full(columns, 0.03))
    for index in (4, 5):
        if site.has(index):
            site.values(index, np.asarray(0), np.asarray(3))
    if site.has(6):
        site.values(6, np.arange(columns) * 0.37 - 0.5)


def gemm(site: Site) -> None:
    turned_a = bool(site.attribute("transA", (1, 0)))
    turned_b = bool(site.attribute("transB", (1, 0)))
    inner, rows, columns = (pick(site.draw, [2, 3, 1]) for _ in range(3))
    site.choose_shape(0, [(inner, rows) if turned_a else (rows, inner)])
    a = site.shape(0)
    if a is None or len(a) != 2:
        raise Unsatisfiable("Gemm of another rank")
    rows, inner = (a[1], a[0]) if turned_a else a
    site.choose_shape(1, [(n, inner) if turned_b else (inner, n) for n in (columns, inner)])
    b = site.shape(1)
    if b is None or len(b) != 2 or (b[1] if turned_b else b[0]) != inner:
        raise Unsatisfiable("Gemm operands do not fit")
    columns = b[0] if turned_b else b[1]
    site.attribute("alpha", (1.0, 0.5, 2.0))
    site.attribute("beta", (1.0, 0.5, 0.0))
    if site.has(2):
        site.choose_shape(2, [(columns,), (1, columns), (rows, columns), (rows, 1), ()])
    else:
        bias(site, columns)


def conv(site: Site) -> None:
    known = site.shape(0)
    rank = len(known) - 2 if known else pick(site.draw, [2, 1, 3])
    if rank < 1:
        raise Unsatisfiable("Conv without spatial dimensions")
    group = site.attribute("group", (2, 3, 1))
    per_group = pick(site.draw, [1, 2, 3])
    spatial = tuple(pick(site.draw, [4, 5, 3]) for _ in range(rank))
    x = site.choose_shape(0, [(1, group * per_group, *spatial), (2, group * per_group, *spatial)])
    if x[1] % group:
        raise Unsatisfiable("Conv: channels do not split into groups")
    kernel = tuple(min(pick(site.draw, [1, 2, 3]), n) for n in x[2:])
    filters = group * pick(site.draw, [1, 2, max(1, x[1] // group)])
    w = site.choose_shape(1, [(filters, x[1] // group, *kernel)])
    if len(w) != len(x) or w[1] * group != x[1] or w[0] % group:
        raise Unsatisfiable("Conv: the weight does not fit")
    window(site, w[2:], x[2:])
    bias(site, w[0])


def bias(site: Site, size: int) -> None:
    """The third operand; a float constant where the pattern takes any further operands."""
    if site.has(2):
        site.choose_shape(2, [(size,)])
    elif site.node.rest is not None and (chance(site.draw, 50) or site.opset < 11):
        (index,) = site.rest(1)
        site.typed(index, site.world.dtypes[site.slot(0)])
        site.values(index, np.arange(size) * 0.37 - 0.5)


def window(site: Site, kernel: Shape, spatial: Shape, pool: bool = False) -> None:
    """Attributes of a sliding window that leave at least one position."""
    rank = len(kernel)
    site.attribute("kernel_shape", (list(kernel),), required=pool)
    site.attribute("strides", ([1] * rank, [2] * rank, [2] + [1] * (rank - 1)))
    fits = [
        d for d in (2,) if all((k - 1) * d + 1 <= n for k, n in zip(kernel, spatial, strict=True))
    ]
    site.attribute("dilations", ([1] * rank, *([d] * rank for d in fits)))
    spread = any(n != 1 for n in site.world.stated(site.node).get("dilations", ()))
    same = () if spread else ("SAME_UPPER", "SAME_LOWER")  # onnxruntime takes not both
    auto = site.attribute("auto_pad", (*same, "VALID", "NOTSET"))
    if auto == "NOTSET":
        most = [k - 1 for k in kernel]
        one = [min(1, m) for m in most]
        choices = ([0] * (2 * rank), one + one, one + [0] * rank, [0] * rank + one)
        site.attribute("pads", choices)


def pool(site: Site) -> None:
    known = site.shape(0)
    rank = len(known) - 2 if known else pick(site.draw, [2, 1, 3])
    if rank < 1:
        raise Unsatisfiable("a pool without spatial dimensions")
    spatial = tuple(pick(site.draw, [4, 3, 5]) for _ in range(rank))
    x = site.choose_shape(0, [(1, 2, *spatial), (2, 1, *spatial)])
    drawn = [min(pick(site.draw, [2, 1, 3]), n) for n in x[2:]]
    kernel = site.attribute("kernel_shape", (drawn, list(x[2:])), required=True)
    window(site, tuple(kernel), x[2:], pool=True)
    site.attribute("ceil_mode", (1, 0))
    site.attribute("count_include_pad", (1, 0))
    site.attribute("storage_order", (0,))


def global_pool(site: Site) -> None:
    shapes: list[Shape] = [(1, 2, 3, 3), (2, 1, 4), (1, 2, 2, 2, 2), (2, 3), (1, 2, 1, 1)]
    site.choose_shape(0, shapes)


def conv_transpose(site: Site) -> None:
    known = site.shape(0)
    rank = len(known) - 2 if known else pick(site.draw, [2, 1])
    group = site.attribute("group", (2, 1))
    x = site.choose_shape(0, [(1, 2 * group, *([3] * rank)), (1, group, *([2] * rank))])
    if rank < 1 or x[1] % group:
        raise Unsatisfiable("ConvTranspose does not fit")
    w = site.choose_shape(1, [(x[1], pick(site.draw, [1, 2]), *([2] * rank))])
    if len(w) != len(x) or w[0] != x[1]:
        raise Unsatisfiable("ConvTranspose: the weight does not fit")
    site.attribute("kernel_shape", (list(w[2:]),))
    site.attribute("strides", ([1] * rank, [2] * rank))
    site.attribute("dilations", ([1] * rank,))
    site.attribute("pads", ([0] * (2 * rank),))
    site.attribute("output_padding", ([0] * rank,))
    bias(site, w[1] * group)


def batch_normalization(site: Site) -> None:
    x = site.choose_shape(0, [(1, 2, 3), (1, 3, 2, 2)])
    if len(x) < 2:
        raise Unsatisfiable("BatchNormalization needs channels")
    site.attribute("epsilon", (1e-3,))
    for index, value in enumerate((1.25, 0.5, 0.1, 2.0), 1):
        site.choose_shape(index, [(x[1],)])
        site.values(index, np.full(x[1], value) + np.arange(x[1]) / 8)


PRODUCTS: dict[str, Settle] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MatMul": matmul,
    "MatMulInteger": matmul,
    "com.microsoft::MatMulIntegerToFloat": matmul_to_float,
    "Gemm": gemm,
    "AveragePool": pool,
    "MaxPool": pool,
    "LpPool": pool,
    "GlobalAveragePool": global_pool,
    "GlobalMaxPool": global_pool,
    "BatchNormalization": batch_normalization,
}
ELEMENTWISE: dict[str, Settle] = {
    **{
        name: unary
        for name in SAME_SHAPE
        - {"BatchNormalization", "ReverseSequence", "Dropout", "LRN", "CumSum"}
    },
    "Clip": clip,
    "Cast": cast,
    **{
        name: broadcast
        for name in [
            "Add",
            "Sub",
            "Mul",
            "Div",
            "Pow",
            "Max",
            "Min",
            "Mean",
            "Sum",
            "Where",
            "PRelu",
            "Mod",
            "Equal",
            "Less",
            "Greater",
        ]
    },
}
