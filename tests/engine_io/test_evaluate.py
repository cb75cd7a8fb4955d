"""The evaluator against onnxruntime over all 256 codes, and what it declines to compute."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from single_node import session

from qrewrite.engine.graph import Model, Value
from qrewrite.engine.io.models import read_model
from qrewrite.engine.numerics.evaluate import all_codes, compare_codes, evaluate

Array = NDArray[Any]
Constants = dict[str, Any]
U8, I8 = TensorProto.UINT8, TensorProto.INT8


def model(
    nodes: list[str], constants: Constants, dtype: int = U8, output: int = U8, opset: int = 21
) -> onnx.ModelProto:
    """A model `y` of codes `x` in ONNX's textual form, one node a line."""
    imports = f'"" : {opset}, "com.microsoft" : 1'
    kinds = {U8: "uint8", I8: "int8", TensorProto.FLOAT: "float"}
    text = (
        f"<ir_version: 10, opset_import: [{imports}]> g ({kinds[dtype]}[n] x) => "
        f"({kinds[output]}[m] y) {{ {' '.join(nodes)} }}"
    )
    proto = onnx.parser.parse_model(text)
    for name, content in constants.items():
        array = np.asarray(content, np.float32) if isinstance(content, (float, list)) else content
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return proto


def grid(zero_point: int = 128, dtype: Any = np.uint8) -> Constants:
    return {"s": 0.05, "z": np.asarray(zero_point, dtype)}


def every(dtype: int) -> Array:
    codes = all_codes(dtype)
    assert codes is not None
    return codes.reshape(-1)


def evaluated(proto: onnx.ModelProto, dtype: int = U8) -> Array | None:
    view = read_model(proto).graph.values
    return evaluate(view["y"], {view["x"]: every(dtype)})


def check(proto: onnx.ModelProto, dtype: int = U8) -> None:
    ours = evaluated(proto, dtype)
    theirs = session(proto).run(None, {"x": every(dtype)})[0]
    assert ours is not None
    assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    assert len(np.unique(ours)) > 2, "the case tests nothing"


OPS: list[tuple[str, Constants]] = [
    ("f = Add (d, c)", {"c": 1.7}),
    ("f = Sub (c, d)", {"c": 1.7}),
    ("f = Mul (d, c)", {"c": -0.3}),
    ("f = Div (d, c)", {"c": 0.7}),
    ("f = Neg (d)", {}),
    ("f = Abs (d)", {}),
    ("f = Relu (d)", {}),
    ("g = Abs (d) f = Sqrt (g)", {}),
    ("g = Add (d, c) f = Reciprocal (g)", {"c": 9.0}),
    ("f = Identity (d)", {}),
    ("f = Clip (d, c)", {"c": -1.02}),
    ("f = Clip (d, , c)", {"c": 2.03}),
    ("f = Clip (d, b, c)", {"b": -1.0, "c": 2.03}),
    ("f = Max (d, c)", {"c": 0.52}),
    ("f = Min (d, c, b)", {"c": 0.52, "b": -0.5}),
    ("f = Min (d)", {}),
    ("f = LeakyRelu (d)", {}),
    ("f = LeakyRelu <alpha = 0.3> (d)", {}),
    ("f = PRelu (d, c)", {"c": 0.26}),
    ("f = Pow (d, c)", {"c": 2.0}),
    ("f = Mul (d, d)", {}),
    ("f = HardSigmoid (d)", {}),
    ("f = HardSigmoid <alpha = 0.16666667, beta = 0.4> (d)", {}),
    ("f = HardSwish (d)", {}),
    ("g = Add (d, c) h = Clip (g, b, t) f = Mul (d, h)", {"c": 3.0, "b": 0.0, "t": 6.0}),
    ("f = Pow (d, c)", {"c": 3.0}),
    ("g = Abs (d) f = Pow (g, c)", {"c": 0.5}),
    ("f = Tanh (d)", {}),
    ("f = Sigmoid (d)", {}),
    ("f = Erf (d)", {}),
    ("f = Exp (d)", {}),
    ("g = Abs (d) f = Log (g)", {}),
    ("f = Sin (d)", {}),
    ("f = Cos (d)", {}),
    ("f = Softplus (d)", {}),
    ("f = Mish (d)", {}),
    ("f = Elu <alpha = 0.7> (d)", {}),
    ("f = Celu <alpha = 1.7> (d)", {}),
    ("f = Selu (d)", {}),
    ("f = Selu <alpha = 0.7, gamma = 1.3> (d)", {}),
    ("g = Cast <to = 10> (d) f = Cast <to = 1> (g)", {}),
    ("g = Cast <to = 6> (d) f = Cast <to = 1> (g)", {}),
]


@pytest.mark.parametrize(("op", "constants"), OPS, ids=[op for op, _ in OPS])
@pytest.mark.parametrize("dtype", [U8, I8])
def test_float_ops_between_dq_and_q(op: str, constants: Constants, dtype: int) -> None:
    kind = np.uint8 if dtype == U8 else np.int8
    nodes = ["d = DequantizeLinear (x, s, z)", op, "y = QuantizeLinear (f, t1, z1)"]
    own = {**grid(100, kind), "t1": 0.043, "z1": np.asarray(90, kind), **constants}
    check(model(nodes, own, dtype, dtype), dtype)


def test_clip_by_attributes_before_opset_11() -> None:
    nodes = ["d = DequantizeLinear (x, s, z)", "y = Clip <min = -1.5, max = 0.7> (d)"]
    check(model(nodes, grid(), output=TensorProto.FLOAT, opset=10))


@pytest.mark.parametrize("op", ["Clip (x, lo, hi)", "Max (x, lo)", "Min (x, hi)"])
@pytest.mark.parametrize("dtype", [U8, I8])
def test_clip_max_and_min_of_codes(op: str, dtype: int) -> None:
    kind = np.uint8 if dtype == U8 else np.int8
    bounds = {"lo": np.asarray(7, kind), "hi": np.asarray(99, kind)}
    check(model([f"y = {op}"], bounds, dtype, dtype), dtype)


@pytest.mark.parametrize("zero_points", [(128, 128), (3, 7), (0, 255)])
@pytest.mark.parametrize(
    ("op", "exact"),
    [
        ("QLinearSigmoid (x, s, z, t, q)", True),
        ("QLinearLeakyRelu <alpha = 0.2> (x, s, z, t, q)", True),
        ("QLinearLeakyRelu (x, s, , t, q)", True),
        ("QLinearAdd (x, s, z, k, s, z, t, q)", False),
        ("QLinearMul (x, s, z, k, s, z, t, q)", False),
        ("QLinearConcat <axis = 0> (t, q, x, s, z, k, t, q)", True),
    ],
)
def test_kernels_of_com_microsoft(op: str, exact: bool, zero_points: tuple[int, int]) -> None:
    z, q = (np.asarray(v, np.uint8) for v in zero_points)
    constants = {"s": 0.05, "z": z, "t": 0.0311, "q": q, "k": np.asarray([77], np.uint8)}
    if "Sigmoid" in op:
        constants["t"] = 1 / 256
    proto = model([f"y = com.microsoft.{op}"], constants)
    ours = evaluated(proto)
    theirs = session(proto).run(None, {"x": every(U8)})[0].astype(int)
    assert ours is not None
    distance = np.abs(ours.astype(int) - theirs)
    assert distance.max() <= (0 if exact else 1) and (distance > 0).mean() < 0.02


def test_qlinear_add_moves_ties_as_the_kernel_does() -> None:
    """An odd zero point: rounding after it is added turns 0.5 + 1 into 2, before into 1."""
    constants = {"s": 0.5, "z": np.asarray(0, np.uint8), "k": np.asarray([0], np.uint8)}
    constants |= {"t": 1.0, "q": np.asarray(1, np.uint8)}
    proto = model(["y = com.microsoft.QLinearAdd (x, s, z, k, s, z, t, q)"], constants)
    ours = evaluated(proto)
    assert ours is not None
    assert np.array_equal(ours, session(proto).run(None, {"x": every(U8)})[0])
    assert ours[1] == 2


@pytest.mark.parametrize(
    "op",
    [
        "f = Gelu (d)",
        "f = Pow (d, other)",
        "f = Add (d, other)",
        "f = Softmax (d)",
        "g = Mul (d, c) f = my.Op (g)",
    ],
)
def test_what_is_not_computed(op: str) -> None:
    proto = model(["d = DequantizeLinear (x, s, z)", op, "y = Identity (f)"], {**grid(), "c": 0.5})
    proto.graph.input.append(helper.make_tensor_value_info("other", TensorProto.FLOAT, [1]))
    proto.opset_import.add(domain="my", version=1)
    assert evaluated(proto) is None


def test_per_axis_grids_and_undefined_casts_are_not_computed() -> None:
    per_axis = {"s": [0.05] * 256, "z": np.zeros(256, np.uint8)}
    nodes = ["y = DequantizeLinear <axis = 0> (x, s, z)"]
    assert evaluated(model(nodes, per_axis, output=TensorProto.FLOAT)) is None
    nodes = ["d = DequantizeLinear (x, s, z)", "y = Cast <to = 2> (d)"]
    assert evaluated(model(nodes, grid())) is None


# ---- comparing two sides ----------------------------------------------------------------------


def two_sides(op: str, constants: Constants) -> tuple[Model, Value, Value, Value]:
    """`y` is the old value; `w` is what the rewrite would make."""
    nodes = ["d = DequantizeLinear (x, s, z)", "f = Mul (d, c)", "y = QuantizeLinear (f, s, z)", op]
    proto = model(nodes, {**grid(), **constants})
    proto.graph.output.add(name="w").type.tensor_type.elem_type = U8
    view = read_model(proto)
    values = view.graph.values
    return view, values["x"], values["y"], values["w"]


def test_compare_codes_finds_the_largest_difference() -> None:
    _, x, y, w = two_sides("w = QuantizeLinear (d, s, z)", {"c": 1.0})
    assert compare_codes(x, [(y, w)], []) == 0
    _, x, y, w = two_sides("w = QuantizeLinear (d, s, z)", {"c": 1.004})
    assert compare_codes(x, [(y, w)], []) == 1
    _, x, y, w = two_sides("w = Identity (x)", {"c": -1.0})
    assert compare_codes(x, [(y, w)], []) == 255


def test_new_nodes_come_before_old_ones_and_codes_meet_every_element_of_a_constant() -> None:
    view, x, y, _ = two_sides("w = Identity (x)", {"c": [[1.0], [1.0], [0.5]]})
    s, z, d = (view.graph.values[name] for name in "szd")
    new = view.graph.new_node("QuantizeLinear", [d, s, z], [y])
    difference = compare_codes(x, [(y, y)], [new])
    assert difference == 64  # only the third element differs: half of 128 codes


def test_float_results_are_the_same_or_not() -> None:
    view, x, _, _ = two_sides("w = Identity (x)", {"c": 1.0})
    d, f = view.graph.values["d"], view.graph.values["f"]
    assert compare_codes(x, [(f, d)], []) == 0
    view, x, _, _ = two_sides("w = Identity (x)", {"c": 1.0001})
    d, f = view.graph.values["d"], view.graph.values["f"]
    assert compare_codes(x, [(f, d)], []) == math.inf


def test_not_comparable_is_an_answer() -> None:
    view, _, y, w = two_sides("w = Identity (x)", {"c": 1.0})
    assert compare_codes(view.graph.values["f"], [(y, w)], []) is None
    huge = two_sides("w = Identity (x)", {"c": np.ones((1, 1 << 15), np.float32)})
    assert compare_codes(huge[1], [(huge[2], huge[3])], []) is None
    assert all_codes(TensorProto.UINT16) is None
    assert all_codes(TensorProto.FLOAT) is None


@pytest.mark.parametrize(("scale", "sure"), [(1 / 127, True), (2 * math.tanh(0.05), False)])
def test_what_the_last_bits_of_a_function_decide_is_not_compared(scale: float, sure: bool) -> None:
    """With a scale of 2 tanh(0.05), tanh(0.05) lies halfway between two codes."""
    nodes = ["d = DequantizeLinear (x, s, z)", "f = Tanh (d)", "y = QuantizeLinear (f, t, z)"]
    view = read_model(model(nodes, {**grid(), "t": scale})).graph.values
    assert compare_codes(view["x"], [(view["y"], view["y"])], []) == (0 if sure else None)


def test_where_a_function_is_exact_ties_are_compared() -> None:
    """Elu is the identity above 0: half of the codes fall on ties, and none is in doubt."""
    nodes = ["d = DequantizeLinear (x, s, z)", "f = Elu (d)", "y = QuantizeLinear (f, t, z)"]
    constants = {"s": 0.5, "z": np.asarray(128, np.uint8), "t": 1.0}
    view = read_model(model(nodes, constants)).graph.values
    assert compare_codes(view["x"], [(view["y"], view["y"])], []) == 0
