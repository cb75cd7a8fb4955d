"""Weights and biases that a rule does not take."""

from __future__ import annotations

from dataclasses import replace

from rules.graphs import Grid

from .graphs import (
    BIAS,
    CHANNELS,
    CONV,
    I8,
    U16,
    ZEROS,
    Case,
    bias_input,
    conv,
    gemm,
    overridable,
    weight_input,
)

CASES = [
    Case(
        "bias on another grid",
        conv(**BIAS, bias_scale=1.07),
        "Conv",
        "onnx/conv",
        "close(b.scale, x.scale * w.scale)",
        ("0.000214 against 0.0002, 7 % apart",),
    ),
    Case(
        "bias of one wrong channel",
        conv(
            w=Grid("i8", CHANNELS, ZEROS, axis=0),
            bias="i32",
            bias_codes=(30, 5, 701, 0),
            bias_scale=[1, 1, 1.07, 1],
        ),
        "Conv",
        "onnx/conv",
        "close(b.scale, x.scale * w.scale)",
        ("7 % apart", "worst of 4"),
    ),
    Case(
        "bias with a zero point",
        conv(**BIAS, bias_codes=(30, -500, 2**31 - 9, 0), bias_zero_point=-500),
        "Conv",
        "onnx/conv",
        "b.zero_point == 0",
        ("b.zero_point is -500",),
    ),
    Case(
        "sum beyond int32",
        conv(**BIAS, bias_codes=(30, -500, 2**31 - 9, 0)),
        "Conv",
        "onnx/conv",
        "65025 * size(w) / dim(w, 0) + max(abs(b)) < 2147483648",
        ("2.14",),
    ),
    Case(
        "float bias at run time",
        lambda: bias_input("Conv"),
        "Conv",
        "onnx/conv_bias",
        "is_const(b)",
        ("b is a graph input",),
    ),
    Case(
        "bias beyond int32",
        conv(bias="f32", bias_codes=(1e12, 1, 1, 1)),
        "Conv",
        "onnx/conv_bias",
        "let c = quantize_bias(b, x.scale * w.scale)",
        ("cannot be computed",),
    ),
    Case(
        "beta of gemm",
        gemm(attributes=(("beta", 0.5),), bias="i32"),
        "Gemm",
        "ort-cpu/gemm",
        "not present(c) or alpha == 1 and beta == 1",
        ("beta is 0.5",),
    ),
    Case(
        "weight at run time",
        weight_input,
        "Conv",
        "onnx/conv_weight",
        "is_const(w)",
        ("w is a graph input",),
    ),
    Case(
        "codes at run time that saturate",
        conv(weight="input"),
        "Conv",
        "onnx/conv",
        "product_on_target(x, w)",
        ("w is a graph input",),
    ),
    Case(
        "float weight of u16",
        conv(weight="f32", x=U16, y=U16),
        "Conv",
        "onnx/conv_weight",
        "x.type in {u8, i8}",
        ("x.type is u16",),
    ),
    Case(
        "float weight to i8",
        conv(weight="f32", y=I8),
        "Conv",
        "onnx/conv_weight",
        "y.type == x.type",
        ("y.type is i8",),
        options={"target": "arm"},
    ),
    Case(
        "float weight that may be overridden",
        lambda: overridable(replace(CONV, weight="f32").model(), "w"),
        "Conv",
        "onnx/conv_weight",
        "is_const(w)",
        ("may override",),
    ),
]
