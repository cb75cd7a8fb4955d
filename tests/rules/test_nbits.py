"""Weights of 2, 4 or 8 bits beside float activations: MatMulNBits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import ArrayLike
from onnx import ModelProto

from .checks import apply, assert_rewritten, operations, run
from .graphs import MS, Builder, Grid, feeds

NBITS = f"{MS}::MatMulNBits"
FUSED = {NBITS: 1, "MatMul": 0, "Gemm": 0, "Add": 0, "DequantizeLinear": 0}
ROWS, COLUMNS = 40, 6
SCALES = [0.01, 0.02, 0.005, 0.03, 0.01, 0.02]

INT4 = Grid("i4", SCALES, None, axis=1)


@dataclass(frozen=True)
class Narrow:
    """A float input times a weight of few bits; `added`: an Add of this behind it."""

    op: str = "MatMul"
    w: Grid = INT4
    a: Grid | None = None
    y: Grid | None = None
    bias: ArrayLike | None = None
    added: ArrayLike | None = None
    shape: tuple[int, ...] = (3, ROWS)
    opset: int = 21
    domain: str = ""
    floats: str = "f32"
    uses: int = 1
    attributes: tuple[tuple[str, float], ...] = ()

    def model(self) -> ModelProto:
        b = Builder(self.opset, self.domain, self.floats)
        shape = (COLUMNS, ROWS) if dict(self.attributes).get("transB") else (ROWS, COLUMNS)
        span = 2 ** int(self.w.type[1:])
        low = -span // 2 if self.w.type[0] == "i" else 0
        codes = np.random.default_rng(1).integers(low, low + min(span, 256), shape)
        weight = b.constant(codes, self.w.type)
        for i in range(self.uses):
            a = b.input(f"x{i}", self.a.type if self.a else self.floats, self.shape)
            a = b.dq(a, self.a) if self.a else a
            operands = [a, b.dq(weight, self.w)]
            if self.bias is not None:
                operands.append(b.constant(self.bias, self.floats))
            v = b.node(self.op, operands, **dict(self.attributes))
            if self.added is not None:
                v = b.node("Add", [b.constant(self.added, self.floats), v])
            if self.y is None:
                b.nodes[-1].output[0] = b.output(f"y{i}", self.floats)
            else:
                b.q(v, self.y, b.output(f"y{i}", self.y.type))
        return b.model()


PLAIN = Narrow()
GEMM = Narrow("Gemm")
ROW = np.arange(COLUMNS) * 0.3 - 1
TURNED = replace(GEMM, w=replace(PLAIN.w, axis=0), attributes=(("transB", 1),))
TYPES = ["i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("zero_point", [None, 1])
@pytest.mark.parametrize(
    "scale", [0.01, [0.01], SCALES], ids=["one", "one_element", "one_a_column"]
)
def test_one_scale_or_one_a_column(type: str, zero_point: int | None, scale: ArrayLike) -> None:
    w = Grid(type, scale, zero_point, axis=1 if np.size(scale) > 1 else None)
    assert_rewritten(replace(PLAIN, w=w, opset=25).model(), FUSED)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(replace(PLAIN, shape=(2, 3, ROWS)), id="batched"),
        pytest.param(replace(PLAIN, w=Grid("i4", SCALES, 3, axis=-1)), id="negative_axis"),
        pytest.param(replace(PLAIN, w=Grid("i8", SCALES, None, axis=1), opset=13), id="opset13"),
        pytest.param(
            replace(PLAIN, w=Grid("u4", SCALES, None, axis=1), domain=MS, opset=17),
            id="com_microsoft",
        ),
        pytest.param(GEMM, id="gemm"),
        pytest.param(replace(GEMM, attributes=(("beta", 0.5),)), id="gemm_beta_without_bias"),
        pytest.param(replace(GEMM, bias=ROW), id="gemm_bias"),
        pytest.param(replace(GEMM, bias=ROW[None]), id="gemm_bias_1xN"),
        pytest.param(replace(GEMM, bias=[0.7]), id="gemm_bias_1"),
        pytest.param(replace(GEMM, bias=0.7), id="gemm_bias_scalar"),
        pytest.param(TURNED, id="transposed"),
        pytest.param(replace(TURNED, bias=ROW), id="transposed_bias"),
        pytest.param(replace(TURNED, w=Grid("u4", 0.01, 3)), id="transposed_one_scale"),
        pytest.param(replace(PLAIN, added=ROW), id="add"),
        pytest.param(replace(PLAIN, added=ROW[None]), id="add_1xN"),
        pytest.param(replace(PLAIN, added=0.7), id="add_scalar"),
        pytest.param(replace(PLAIN, added=ROW[None], shape=(2, 3, ROWS)), id="add_to_batches"),
    ],
)
def test_products_and_rows_become_one_node(case: Narrow) -> None:
    assert_rewritten(case.model(), FUSED | {f"{MS}::DequantizeLinear": 0})


@pytest.mark.parametrize("shape", [(3, COLUMNS), (3, 1), (1, 1, COLUMNS)])
def test_what_is_no_row_is_added_behind(shape: tuple[int, ...]) -> None:
    bias = np.arange(np.prod(shape)).reshape(shape) * 0.3
    assert_rewritten(replace(PLAIN, added=bias).model(), FUSED | {"Add": 1})
    if len(shape) == 2:
        assert_rewritten(replace(GEMM, bias=bias).model(), FUSED | {"Add": 1})


def test_two_products_with_one_weight_share_it() -> None:
    result = assert_rewritten(replace(PLAIN, uses=2).model(), FUSED | {NBITS: 2})
    one, other = (node for node in result.graph.node if node.op_type == "MatMulNBits")
    assert one.input[1:] == other.input[1:]


@pytest.mark.parametrize("type", ["u16", "i16"])
@pytest.mark.parametrize("y", [None, Grid("u16", 0.001, 30000), Grid("i16", 0.001, 5)])
def test_activations_of_16_bits_keep_their_dequantizer(type: str, y: Grid | None) -> None:
    case = replace(PLAIN, a=Grid(type, 0.001, 7), y=y)
    kept = {"DequantizeLinear": 1, "QuantizeLinear": 0 if y is None else 1}
    assert_rewritten(case.model(), FUSED | kept, 1)


@pytest.mark.parametrize(
    "case",
    [
        replace(PLAIN, w=Grid("i8", np.full(ROWS, 0.01), None, axis=0)),
        replace(PLAIN, w=Grid("i8", np.full((5, COLUMNS), 0.01), None, axis=0, block_size=8)),
        replace(GEMM, attributes=(("alpha", 0.5),)),
        replace(GEMM, bias=ROW, attributes=(("beta", 0.5),)),
        replace(GEMM, shape=(ROWS, 3), attributes=(("transA", 1),)),
        replace(PLAIN, w=Grid("i4", -0.01, None)),
        replace(PLAIN, w=Grid("i16", 0.01, None)),
    ],
    ids=["per_row", "blocks_of_8", "alpha", "beta", "transA", "negative_scale", "16_bit"],
)
def test_near_misses(case: Narrow) -> None:
    assert_rewritten(case.model(), {NBITS: 0, "DequantizeLinear": 1})


@pytest.mark.parametrize("block_size", [16, 64, 256])
def test_the_block_size_is_an_option(block_size: int) -> None:
    result = assert_rewritten(PLAIN.model(), FUSED, block_size=block_size)
    (node,) = result.graph.node
    assert {a.name: a.i for a in node.attribute}["block_size"] == block_size


def test_rounding_activations_is_an_option() -> None:
    model = PLAIN.model()
    result = apply(model, accuracy_level=4)
    (node,) = result.graph.node
    assert {a.name: a.i for a in node.attribute}["accuracy_level"] == 4
    values = feeds(model)
    expected, found = run(model, values)["y0"], run(result, values)["y0"]
    assert np.abs(expected - found).max() <= 0.05 * np.abs(expected).max()


def test_a_row_added_to_a_node_that_was_there() -> None:
    result = apply(replace(PLAIN, shape=(2, 3, ROWS)).model())
    (node,) = result.graph.node
    b = Builder(21)
    b.input("x0", "f32", (2, 3, ROWS))
    attributes = {a.name: a.i for a in node.attribute}
    b.initializers.extend(result.graph.initializer)
    v = b.node(NBITS, list(node.input), **attributes)
    b.node("Add", [v, b.constant(ROW, "f32")], b.output("y", "f32", (2, 3, COLUMNS)))
    fused = apply(b.model())
    assert operations(fused) == {NBITS: 1}
    values = feeds(fused)
    np.testing.assert_allclose(
        run(b.model(), values)["y"], run(fused, values)["y"], rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("type", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("shape", [(3, ROWS), (2, 3, ROWS)])
def test_float16(type: str, shape: tuple[int, ...]) -> None:
    """The graph rounds each dequantized weight to float16, the kernel only the result."""
    case = replace(PLAIN, w=Grid(type, SCALES, 3, axis=1), floats="f16", shape=shape)
    model = case.model()
    result = assert_rewritten(model, FUSED, feeds=[])
    values = feeds(model)
    expected, found = (run(each, values)["y0"].astype(np.float64) for each in (model, result))
    assert np.abs(expected - found).max() <= 5e-3 * np.abs(expected).max()


def test_float16_beside_scales_of_another_size_stays() -> None:
    case = replace(PLAIN, w=Grid("i4", 1e-6, None), floats="f16")
    assert_rewritten(case.model(), {NBITS: 0, "DequantizeLinear": 1}, feeds=[])
