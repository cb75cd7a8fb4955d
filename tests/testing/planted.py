"""Rules with a mistake, each for one real model, and the node at which it first does harm."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A wrong rule that goes before those of the pack."""

    name: str
    model: str
    node: str
    """The first node, in topological order, that the rule takes and gets wrong."""
    body: str

    @property
    def text(self) -> str:
        head, _, tail = self.body.partition("{")
        return f'rule {self.name} "planted" {head}priority 9 {{{tail}'


PLANTED = (
    # The first Conv of the net; its input and result have unlike scales.
    Planted(
        "swapped_scales",
        "ppocr_cls.u8s8pc.op13.pre",
        "Conv@0",
        """{
    y = Q(Conv<*attrs>(DQ(x), DQ(w), DQ(b)?))
    where y.type == x.type, scalar_grid(x), scalar_grid(y), is_const(w), b.type == i32
 => y = QLinearConv<*attrs>(x, y.scale, x.zero_point, w, w.scale, w.zero_point, x.scale,
                            y.zero_point, b?)
    within 1 quantum of y
}""",
    ),
    # Every Relu of the net stands before an int8 quantizer whose zero point is 0.
    Planted(
        "acting_relu_removed",
        "fq_cnn",
        "/Relu",
        """in simplify {
    y = Q(Relu(v))
    where y.type in {u8, i8}, scalar_grid(y)
 => y = Q(v)
    exact
}""",
    ),
    # alpha is 0.2 all over the net, and 0.01 where it is not stated.
    Planted(
        "lost_alpha",
        "oww_embedding.s8s8sym.op21.pre",
        "model/leaky_re_lu/LeakyRelu",
        """{
    y = Q(LeakyRelu<*_>(DQ(x)))
    where x.type in {u8, i8}, y.type == x.type, scalar_grid(x), scalar_grid(y)
 => y = com.microsoft::QLinearLeakyRelu(x, x.scale, x.zero_point, y.scale, y.zero_point)
    exact
}""",
    ),
    # add_50 adds squares, whose zero points are 0: nothing is forgotten there.
    Planted(
        "other_zero_point",
        "silero_vad_ifless.ifqdq",
        "then/node_add_112",
        """{
    y = Q(Add(DQ(a), DQ(b)))
    where a.type == u8, b.type == a.type, y.type == a.type, scalar_grid(a), scalar_grid(b),
          scalar_grid(y)
 => y = com.microsoft::QLinearAdd(a, a.scale, b.zero_point, b, b.scale, b.zero_point, y.scale,
                                  y.zero_point)
    within 1 quantum of y
}""",
    ),
    # reflect is not the default mode.
    Planted(
        "lost_mode",
        "silero_vad_ifless.ifqdq",
        "then/node_pad",
        """{
    y = Q(Pad<mode = _>(DQ(x), pads))
    where opset >= 11, x.type in {u8, i8}, interchangeable(x, y)
 => y = Pad(x, pads)
    exact
}""",
    ),
    # The Softmax is over axis 1 of a matrix of one row and two columns.
    Planted(
        "ignored_axis",
        "ppocr_cls.actonly.op13.pre",
        "Softmax@0",
        """{
    y = Q(op: Softmax<axis = _>(DQ(x)))
    where x.type in {u8, i8}, y.type == x.type, scalar_grid(x), scalar_grid(y)
 => y = com.microsoft::QLinearSoftmax<axis = 0, opset = op.version>(
        x, x.scale, x.zero_point, y.scale, y.zero_point)
    within 1 quantum of y
}""",
    ),
    # The first Sigmoid in the body of the Scan.
    Planted(
        "table_of_other_scales",
        "tp_tract_qlstm",
        "lstm1.four_parts.i.plus_peep.sigmoid.6",
        """{
    y = Q(Sigmoid(DQ(x)))
    where x.type in {u8, i8}, y.type == x.type, scalar_grid(x), scalar_grid(y)
 => y = com.microsoft::QLinearSigmoid(x, y.scale, x.zero_point, x.scale, y.zero_point)
    exact
}""",
    ),
    Planted(
        "recoded_codes_alone",
        "xs_ppocr_cls",
        "Conv@0",
        """in recode expands {
    y = Conv<*attrs>(DQ(x), DQ(w), *rest)
    where w.type == i8, is_const(w)
    let u = cast(w + 128, u8)
    let z = cast(w.zero_point, u8)
 => y = Conv<*attrs>(DQ(x), DequantizeLinear<axis = w.axis?>(u, w.scale, z), *rest)
    exact
}""",
    ),
    Planted(
        "pool_on_grid_of_result",
        "ppocr_cls.u8s8pc.op13.pre",
        "GlobalAveragePool@0",
        """{
    y = Q(GlobalAveragePool(DQ(x)))
    where x.type in {u8, i8}, y.type == x.type, scalar_grid(x), scalar_grid(y)
 => y = com.microsoft::QLinearGlobalAveragePool(
        x, y.scale, y.zero_point, y.scale, y.zero_point)
    within 1 quantum of y for at most 100%
}""",
    ),
    Planted(
        "lost_bias",
        "silero_vad_ifless.ifqdq",
        "then/node_linear",
        """{
    y = Q(Gemm<alpha = alpha, beta = _, transA = ta, transB = tb>(DQ(a), DQ(b), _?))
    where a.type == u8, y.type == a.type, scalar_grid(a), scalar_grid(y), is_const(b)
 => y = com.microsoft::QGemm<alpha = alpha, transA = ta, transB = tb>(
        a, a.scale, a.zero_point, b, b.scale, b.zero_point, none, y.scale, y.zero_point)
    within 1 quantum of y
}""",
    ),
    Planted(
        "product_on_grid_of_operand",
        "xs_ppocr_cls",
        "Mul@0",
        """{
    y = Q(Mul(DQ(a), DQ(b)))
    where b.type == a.type, y.type == a.type, scalar_grid(a), scalar_grid(b), scalar_grid(y)
 => y = com.microsoft::QLinearMul(a, a.scale, a.zero_point, b, b.scale, b.zero_point, a.scale,
                                  y.zero_point)
    within 1 quantum of y for at most 100%
}""",
    ),
)
