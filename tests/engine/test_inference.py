"""Element types and shapes on demand."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from python_rules import parse, view

from qrewrite.engine import inference
from qrewrite.engine.dtypes import short_name
from qrewrite.engine.graph import Model, Value
from qrewrite.engine.inference import shape_of, type_of
from qrewrite.engine.io.build import build


@pytest.fixture
def no_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("shape inference was asked for")

    monkeypatch.setattr(inference, "_infer", refuse)


def name_of(model: Model, value: str) -> str:
    return short_name(type_of(model.graph.values[value]))


# What Q and DQ give, by opset, zero point and output_dtype: the tables of the ONNX operators.
@pytest.mark.parametrize(
    ("opset", "call", "expected"),
    [
        (13, "QuantizeLinear(x, s)", "u8"),
        (13, "QuantizeLinear(x, s, zi8)", "i8"),
        (21, "QuantizeLinear <output_dtype = 3> (x, s)", "i8"),
        (21, "QuantizeLinear <output_dtype = 5> (x, s)", "i16"),
        (21, "QuantizeLinear <output_dtype = 0> (x, s)", "u8"),
        (21, "QuantizeLinear(x, s, zu16)", "u16"),
        (13, "com.microsoft.QuantizeLinear(x, s, zu16)", "u16"),
        (13, "com.microsoft.QuantizeLinear(x, s)", "u8"),
        (13, "DequantizeLinear(q, s, zi8)", "f32"),
        (19, "DequantizeLinear(q, h)", "f16"),
        (23, "DequantizeLinear(q, s)", "f32"),
        (23, "DequantizeLinear <output_dtype = 10> (q, s)", "f16"),
        (13, "com.microsoft.DequantizeLinear(q, h)", "f16"),
        (13, "Cast <to = 6> (x)", "i32"),
        (13, "Shape(x)", "i64"),
        (13, "Equal(x, x)", "bool"),
        (13, "ConstantOfShape(dims)", "f32"),
        (13, "ConstantOfShape <value = int8[1] {1}> (dims)", "i8"),
        (13, "Constant <value = uint16[1] {1}> ()", "u16"),
        (13, "MatMulInteger(q, q)", "i32"),
        (13, "com.microsoft.QGemm(q, s, zi8, q, s, zi8)", "f32"),
        (13, "com.microsoft.QGemm(q, s, zi8, q, s, zi8, b, s, zi8)", "i8"),
        (13, "com.microsoft.QLinearAdd(q, s, zi8, q, s, zi8, s, zi8)", "i8"),
    ],
)
@pytest.mark.usefixtures("no_inference")
def test_types_that_follow_from_the_node(opset: int, call: str, expected: str) -> None:
    text = f"""
    g (float[2,2] x, int8[2,2] q) => (float[2,2] y)
      <float s = {{1}}, float16 h = {{1}}, int8 zi8 = {{0}}, uint16 zu16 = {{0}}, int32[1] b =
      {{0}}, int64[1] dims = {{2}}> {{ v = {call}\n y = Identity(x) }}"""
    assert name_of(view(text, opset=opset), "v") == expected


@pytest.mark.usefixtures("no_inference")
def test_a_long_chain_of_same_type_ops() -> None:
    nodes = [helper.make_node("Identity", [f"v{i}"], [f"v{i + 1}"]) for i in range(50_000)]
    info = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT16, [2]) for name in ("v0", "v50000")
    ]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:])
    model = build(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert name_of(model, "v49999") == "f16"
    assert shape_of(model.graph.values["v49999"]) == (2,)


@pytest.mark.usefixtures("no_inference")
def test_any_input_of_the_same_type_will_do() -> None:
    text = """
    g (float[2] x) => (float[2] y) <double[2] w = {1, 2}>
    { u = com.acme.Foo(x)\n v = Add(u, w)\n y = Identity(x) }"""
    assert name_of(build(parse(text, extra=', "com.acme": 1')), "v") == "f64"


def test_captured_values_have_the_type_of_the_outer_one() -> None:
    text = """
    g (bool c, float[2] x) => (float[2] y) <float s = {1}> {
        q = QuantizeLinear(x, s)
        y = If (c) <
            then_branch = t () => (float[2] p) { p = DequantizeLinear(q, s) },
            else_branch = e () => (float[2] p) { p = DequantizeLinear(q, s) }
        >
    }"""
    body = view(text).graphs[1]
    assert short_name(type_of(body.values["q"])) == "u8"
    assert shape_of(body.values["q"]) == (2,)


UNKNOWN_OP = """
g (float[2] x) => (float[2] y) { u = com.acme.Foo(x)\n v = Relu(u)\n y = com.acme.Bar(v) }"""


def test_what_value_info_states_is_used() -> None:
    proto = parse(UNKNOWN_OP, extra=', "com.acme": 1')
    proto.graph.value_info.append(helper.make_tensor_value_info("u", TensorProto.INT8, [3, None]))
    model = build(proto)
    assert name_of(model, "v") == "i8"
    assert shape_of(model.graph.values["v"]) == (3, None)


def test_not_known_is_an_answer() -> None:
    model = build(parse(UNKNOWN_OP, extra=', "com.acme": 1'))
    value = model.graph.values["v"]
    assert type_of(value, infer=False) == 0
    assert type_of(value) == 0
    assert shape_of(value) is None


def test_inference_runs_once_and_knows_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    g (bool c, float[2,3] x) => (float[m,n] y) {
        t = Transpose(x)
        y = If (c) <
            then_branch = t () => (float[m,n] p) { u = Concat <axis = 0> (t, t)\n p = Relu(u) },
            else_branch = e () => (float[m,n] p) { u = Concat <axis = 1> (t, t)\n p = Relu(u) }
        >
    }"""
    runs: list[Model] = []
    real = inference._infer
    monkeypatch.setattr(inference, "_infer", lambda proto: (runs.append(proto), real(proto))[1])
    model = view(text)
    shapes = [shape_of(graph.values["u"]) for graph in model.graphs[1:]]
    assert shapes == [(6, 2), (3, 4)]
    assert shape_of(model.graph.values["t"]) == (3, 2)
    assert len(runs) == 1


def test_inference_is_given_no_large_weights() -> None:
    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    shape = numpy_helper.from_array(np.array([2, 32], np.int64), "shape")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Reshape", ["m", "shape"], ["r"]),
            helper.make_node("Shape", ["r"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [2])],
        [weight, shape],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    copy = inference._without_weights(proto)
    assert [tensor.name for tensor in copy.graph.initializer] == ["shape"]
    model = build(proto)
    assert shape_of(model.graph.values["m"]) == (1, 64)
    assert shape_of(model.graph.values["r"]) == (2, 32)
    assert shape_of(model.graph.values["w"]) == (64, 64)


def test_a_failure_of_inference_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", fail)
    model = view("g (float[2] x) => (float[n] y) { t = Concat <axis = 0> (x, x)\n y = Relu(t) }")
    assert shape_of(model.graph.values["t"]) is None


def test_the_shape_of_an_overridable_initializer_is_the_inputs() -> None:
    weight = numpy_helper.from_array(np.ones(2, np.float32), "w")
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, None]) for n in ("x", "w")]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])], "g", info, [out], [weight]
    )
    model = build(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    value: Value = model.graph.values["w"]
    assert not value.constant
    assert shape_of(value) == (2, None)
    assert short_name(type_of(value)) == "f32"


def model_of_unknown_rank(text: str) -> Model:
    proto = parse(text)
    for info in proto.graph.input:
        if info.name == "x":
            info.type.tensor_type.ClearField("shape")
    return build(proto)


RANKS = """
g (float[1] x, float[8,4,3,3] w) => (float[a,b] y)
    <int64[1] minus = {-1}, int64[1] zero = {0}, int64[1] one = {1}, int64[2] two = {4, 4}> {
    c = Conv(x, w)
    r = Relu(c)
    s = Shape(r)
    n = Slice(s, zero, one)
    dims = Concat <axis = 0> (n, two, minus)
    t = Reshape(x, dims)
    u = Sigmoid(t)
    f = Flatten(x)
    g = Exp(f)
    back = Shape(u)
    z = Reshape(x, back)
    y = Softmax(g)
}"""


@pytest.mark.parametrize(
    ("name", "rank"),
    [("c", 4), ("r", 4), ("t", 4), ("u", 4), ("f", 2), ("g", 2), ("y", 2), ("z", 4)],
)
def test_ranks_that_follow_from_ops_and_lengths(name: str, rank: int) -> None:
    """ONNX: Conv keeps the weight's rank, Flatten makes matrices, Reshape as many as its shape."""
    shape = shape_of(model_of_unknown_rank(RANKS).graph.values[name])
    assert shape is not None and len(shape) == rank


def test_ranks_in_bodies() -> None:
    text = """
    g (bool c, float[1] x, int64[3] dims) => (float[a,b] y) {
        y = If (c) <
            then_branch = t () => (float[m,n] p) { u = Reshape(x, dims)\n p = Flatten(u) },
            else_branch = e () => (float[m,n] p) { u = Flatten(x)\n p = Relu(u) }
        >
    }"""
    model = model_of_unknown_rank(text)
    assert [shape_of(g.values["u"]) for g in model.graphs[1:]] == [(None,) * 3, (None,) * 2]


def test_the_rank_of_a_reshape_to_a_shape_of_unknown_length_is_not_known() -> None:
    text = "g (float[2] x, int64[n] dims) => (float[a] y) { t = Reshape(x, dims)\n y = Relu(t) }"
    assert shape_of(build(parse(text)).graph.values["t"]) is None
