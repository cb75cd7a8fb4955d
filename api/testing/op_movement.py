"""The same as op_shapes.py for ops that move, pick or reduce elements."""

from __future__ import annotations

import math

import numpy as np

from .draws import chance, pick
from .expand_pattern import Unsatisfiable
from .op_shapes import Settle, elementwise_shapes
from .site import Shape, Site
from .world import NUMPY


def _shape(site: Site, *shapes: Shape, least: int = 1) -> Shape:
    x = site.choose_shape(0, shapes or elementwise_shapes(site))
    if len(x) < least:
        raise Unsatisfiable(f"{site.node.op} of a tensor of rank {len(x)}")
    return x


def _operand(site: Site, *values: object, dtype: str = "i64", index: int = 1) -> None:
    """The operand `index`, one of these values; added where the pattern takes any."""
    if index >= len(site.node.inputs):
        if site.node.rest is None:
            return
        (index,) = site.rest(1)
        site.typed(index, dtype)
    if site.has(index):
        site.values(index, *map(np.asarray, values))


def reshape(site: Site) -> None:
    x = _shape(site, *elementwise_shapes(site))
    size = math.prod(x)
    targets: list[list[int]] = [[-1], [1, size], list(reversed(x)) or [1]]
    _operand(site, *(targets if size else [[0]]))
    site.attribute("allowzero", (1,) if not size else (0,))


def flatten(site: Site) -> None:
    x = _shape(site, (2, 3), (1, 2, 3), (4,))
    site.attribute("axis", tuple(range(len(x) + 1)))


def _axes(site: Site, axes: list[int], name: str = "axes", since: int = 13) -> None:
    if site.opset >= since:
        _operand(site, axes)
    else:
        site.attribute(name, (axes,), required=True)


def squeeze(site: Site) -> None:
    x = _shape(site, (1, 3), (2, 1, 2), (1, 4, 1))
    ones = [i for i, n in enumerate(x) if n == 1]
    if not ones:
        raise Unsatisfiable("Squeeze of no dimension of 1")
    _axes(site, ones[:1])


def unsqueeze(site: Site) -> None:
    _shape(site, *elementwise_shapes(site), least=0)
    _axes(site, [0])


def transpose(site: Site) -> None:
    x = _shape(site, least=0)
    turned = list(range(len(x)))
    site.attribute("perm", (turned[::-1], turned[1:] + turned[:1]))


def expand(site: Site) -> None:
    x = _shape(site, (1, 3), (2, 1), (3,))
    _operand(site, [2, *(max(n, 1) for n in x)])


def tile(site: Site) -> None:
    x = _shape(site)
    _operand(site, [2] + [1] * (len(x) - 1))


def slice_(site: Site) -> None:
    x = _shape(site)
    if site.opset < 10:
        raise Unsatisfiable("Slice by attributes is not made")
    for value in ([0], [max(x[0] - 1, 1)], [0], [1])[: pick(site.draw, [4, 3, 2])]:
        if site.node.rest is not None:
            (index,) = site.rest(1)
            site.typed(index, "i64")
            site.values(index, np.asarray(value))
    if site.node.rest is None:
        for index, value in enumerate(([0], [1], [0], [1]), 1):
            if site.has(index):
                site.values(index, np.asarray(value))


def gather(site: Site) -> None:
    x = _shape(site)
    axis = site.attribute("axis", tuple(range(len(x))))
    last = max(x[axis] - 1, 0)
    _operand(site, [0], [last, 0], 0, [[0, last]])


def gather_elements(site: Site) -> None:
    x = _shape(site)
    axis = site.attribute("axis", (0, len(x) - 1))
    _operand(site, np.zeros(x, np.int64) + max(x[axis] - 1, 0))


def gather_nd(site: Site) -> None:
    x = _shape(site)
    site.attribute("batch_dims", (0,))
    _operand(site, [[0], [max(x[0] - 1, 0)]])


def scatter_elements(site: Site) -> None:
    x = _shape(site, (2, 3), (4,), (1, 2, 3))
    axis = site.attribute("axis", (0, len(x) - 1)) % len(x)
    places = tuple(1 if i == axis else n for i, n in enumerate(x))
    _operand(site, np.zeros(places, np.int64) + max(x[axis] - 1, 0))
    site.choose_shape(2, [places])


def scatter_nd(site: Site) -> None:
    x = _shape(site, (2, 3), (4,), (1, 2, 3))
    _operand(site, [[max(x[0] - 1, 0)]])
    site.choose_shape(2, [(1, *x[1:])])


def compress(site: Site) -> None:
    x = _shape(site)
    axis = site.attribute("axis", (0,))
    count = math.prod(x) if axis is None else x[axis]
    _operand(site, [i % 2 == 0 for i in range(count)], dtype="bool")


def reverse_sequence(site: Site) -> None:
    x = _shape(site, (3, 2), (4, 3, 2), least=2)
    site.attribute("batch_axis", (1,))
    site.attribute("time_axis", (0,))
    stated = site.world.stated(site.node)
    batch = stated.get("batch_axis", 1)
    if batch == stated.get("time_axis", 0):
        raise Unsatisfiable("ReverseSequence of one axis")
    _operand(site, [max(x[1 - batch] - i, 1) for i in range(x[batch])])


def depth_to_space(site: Site) -> None:
    site.choose_shape(0, [(1, 4, 2, 3), (2, 8, 1, 2)])
    site.attribute("blocksize", (2,), required=True)
    site.attribute("mode", ("DCR", "CRD"))


def space_to_depth(site: Site) -> None:
    site.choose_shape(0, [(1, 1, 4, 2), (1, 2, 2, 2)])
    site.attribute("blocksize", (2,), required=True)


def concat(site: Site) -> None:
    count = len(site.node.inputs)
    known = next((s for s in (site.shape(i) for i in range(count)) if s), None)
    base = known or site.choose_shape(0, [(2, 3), (1, 2, 2), (4,), (256,)])
    axis = site.attribute("axis", tuple(range(len(base))), required=True)
    for index in range(count):
        shapes = [tuple(n + k if i == axis else n for i, n in enumerate(base)) for k in (0, 1)]
        found = site.choose_shape(index, shapes)
        if len(found) != len(base):
            raise Unsatisfiable("Concat of different ranks")


def split(site: Site) -> None:
    count = len(site.node.outputs)
    x = _shape(site, (2 * count, 2), (2, count), (count,))
    axis = site.attribute("axis", tuple(i for i in range(len(x)) if x[i] % count == 0))
    if x[axis] % count:
        raise Unsatisfiable("Split into unequal parts")
    sizes = [x[axis] // count] * count
    if count > 1 and sizes[0] > 1 and chance(site.draw, 30):
        sizes[0], sizes[1] = sizes[0] - 1, sizes[1] + 1
    even = len(set(sizes)) == 1
    if site.opset < 13:
        site.attribute("split", (sizes,), required=not even)
    elif site.opset >= 18 and even and chance(site.draw, 50):
        site.attribute("num_outputs", (count,), required=True)
    else:
        _operand(site, sizes)


def resize(site: Site) -> None:
    x = _shape(site, (1, 1, 2, 2), (1, 2, 3, 2))
    if len(x) != 4:
        raise Unsatisfiable("Resize of another rank")
    site.attribute("mode", ("nearest", "linear"))
    scales = np.asarray([1, 1, *pick(site.draw, [(2, 2), (1.5, 2), (0.5, 0.5)])])
    if site.opset < 11:
        _operand(site, scales, dtype="f32")
        return
    site.attribute(
        "coordinate_transformation_mode",
        ("asymmetric", "align_corners", "half_pixel", "tf_crop_and_resize"),
    )
    site.attribute("nearest_mode", ("floor", "ceil", "round_prefer_ceil"))
    roi = np.asarray([0, 0, 0, 0, 1, 1, 1, 1])
    if site.node.rest is not None:
        for index, value in zip(site.rest(2), (roi, scales), strict=True):
            site.typed(index, "f32")
            site.values(index, value, prefer_constant=100)
    elif site.has(2):
        site.values(2, scales, prefer_constant=100)
        if site.has(1):
            site.values(1, roi, prefer_constant=100)


def pad(site: Site) -> None:
    x = _shape(site, (2, 3), (3,), (1, 2, 2, 3))
    mode = site.attribute("mode", ("edge", "reflect", "constant"))
    most = min(x) if x else 0
    amount = [1] * (2 * len(x)) if most > 1 else [0] * (2 * len(x))
    if mode == "constant" or mode == "edge":
        amount = pick(site.draw, [[1] * (2 * len(x)), [0] * len(x) + [1] * len(x), amount])
    if site.opset < 11:
        site.attribute("pads", (amount,), required=True)
        return
    _operand(site, amount)
    if site.has(2):
        site.values(2, *map(np.asarray, (0.0, 0.3, -1.0, 100.0, np.nan, np.inf)))
    if site.has(3):
        site.values(3, np.arange(len(x)))


def reduce_(site: Site) -> None:
    x = _shape(site, (2, 3), (1, 2, 3), (4,), (1, 2, 2, 3))
    rank = len(x)
    axes = [[0], [rank - 1], [-1], *([[2, 3], [-2, -1], [0, 1]] if rank == 4 else [])]
    if rank > 2:
        axes.append(list(range(1, rank - 1)))
    site.attribute("keepdims", (0, 1))
    since = 13 if site.node.op == "ReduceSum" else 18
    if site.opset < since:
        site.attribute("axes", axes)
    elif not chance(site.draw, 20) or site.has(1):
        _operand(site, *axes)
    site.attribute("noop_with_empty_axes", (0,))


def arg_extreme(site: Site) -> None:
    x = _shape(site, (2, 3), (4,), (1, 2, 3), (256,))
    site.attribute("axis", tuple(range(len(x))))
    site.attribute("keepdims", (0, 1))
    site.attribute("select_last_index", (1, 0))


def top_k(site: Site) -> None:
    x = _shape(site, (2, 3), (4,))
    axis = site.attribute("axis", (0, -1))
    site.attribute("largest", (0, 1))
    site.attribute("sorted", (1,))
    _operand(site, [min(2, x[axis])])


def dynamic_quantize(site: Site) -> None:
    site.choose_shape(0, [(2, 4), (1, 3, 4), (4, 2)])


CONSTANT_VALUES: dict[str, tuple[object, ...]] = {
    "value_float": (1.5,),
    "value_floats": ([1.5, -2.0],),
    "value_int": (7,),
    "value_ints": ([1, 2, 3],),
}


def constant(site: Site) -> None:
    named = [name for name in site.node.captured if name.startswith("value_")]
    for name in named:
        site.attribute(name, CONSTANT_VALUES[name], required=True)
    if named:
        return
    dtype = site.world.dtypes[site.node.outputs[0]]
    value = np.asarray(pick(site.draw, [[1, 2, 3], 5])).astype(NUMPY[dtype])
    site.attribute("value", (value,), required=True)


MOVEMENT: dict[str, Settle] = {
    "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Transpose": transpose, "Expand": expand, "Tile": tile, "Slice": slice_, "Gather": gather,
    "GatherElements": gather_elements, "GatherND": gather_nd,
    "ScatterElements": scatter_elements, "ScatterND": scatter_nd,
    "Compress": compress,
    "ReverseSequence": reverse_sequence, "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth, "Concat": concat, "Split": split, "Resize": resize, "Pad": pad,
    "ArgMax": arg_extreme, "ArgMin": arg_extreme, "TopK": top_k, "Constant": constant,
    "DynamicQuantizeLinear": dynamic_quantize,
    **{f"Reduce{name}": reduce_ for name in ("Max", "Min", "Mean", "Sum", "Prod", "L2")},
}  # fmt: skip
