"""Small nets of the common architectures with random weights, quantized by onnxruntime's quantizer.

What is learnt from real models with their few settings must hold for all: each architecture here in
each setting of the quantizer. Channels and sizes are small, the joints are those of the real nets.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

Arrays = dict[str, NDArray[Any]]


@dataclass
class Net:
    """A float graph under construction; each method adds a node and returns its output."""

    opset: int
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        stem = f"{op.lower()}_{len(self.nodes)}"
        names = [stem] if outputs == 1 else [f"{stem}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=stem, **attributes))
        return names[0]

    def constant(self, value: Any, dtype: type = np.float32) -> str:
        name = f"c_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *value: int) -> str:
        return self.constant(value, np.int64)

    def weight(self, *shape: int) -> str:
        fan = max(1, int(np.prod(shape[1:])))
        return self.constant(self.random.normal(0, 1.5 / np.sqrt(fan), shape))

    def conv(self, x: str, inputs: int, outputs: int, kernel: int = 3, **attributes: Any) -> str:
        pad = kernel // 2
        given = {"kernel_shape": [kernel] * 2, "pads": [pad] * 4} | attributes
        w = self.weight(outputs, inputs // attributes.get("group", 1), kernel, kernel)
        return self.add("Conv", x, w, self.constant(self.random.normal(0, 0.2, outputs)), **given)

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        w = self.constant(self.random.normal(0, 1 / np.sqrt(inputs), (inputs, outputs)))
        bias = self.constant(self.random.normal(0, 0.1, outputs))
        return self.add("Add", self.add("MatMul", x, w), bias)

    def batchnorm(self, x: str, channels: int) -> str:
        draws = self.random.uniform(0.5, 1.5, (4, channels))
        return self.add("BatchNormalization", x, *(self.constant(row) for row in draws))

    def mean(self, x: str, axes: list[int], keep: int) -> str:
        if self.opset >= 18:
            return self.add("ReduceMean", x, self.ints(*axes), keepdims=keep)
        return self.add("ReduceMean", x, axes=axes, keepdims=keep)

    def split(self, x: str, axis: int, parts: int) -> list[str]:
        more = {"num_outputs": parts} if self.opset >= 18 else {}
        first = self.add("Split", x, outputs=parts, axis=axis, **more)
        return [f"{first.rsplit('_', 1)[0]}_{index}" for index in range(parts)]

    def layer_norm(self, x: str, width: int) -> str:
        if self.opset >= 17:
            return self.add(
                "LayerNormalization",
                x,
                self.constant(self.random.uniform(0.5, 1.5, width)),
                self.constant(self.random.normal(0, 0.1, width)),
                axis=-1,
            )
        centred = self.add("Sub", x, self.mean(x, [-1], 1))
        square = self.add("Pow", centred, self.constant(2.0))
        deviation = self.add(
            "Sqrt", self.add("Add", self.mean(square, [-1], 1), self.constant(1e-5))
        )
        return self.add("Div", centred, deviation)


def residual(net: Net, x: str) -> str:
    """ResNet: Conv, BatchNormalization, Relu, skips, MaxPool, GlobalAveragePool, Gemm."""
    v = net.add("Relu", net.batchnorm(net.conv(x, 3, 16), 16))
    v = net.add("MaxPool", v, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for _ in range(2):
        inner = net.add("Relu", net.conv(v, 16, 16))
        v = net.add("Relu", net.add("Add", net.conv(inner, 16, 16), v))
    v = net.add("Flatten", net.add("GlobalAveragePool", v))
    return net.add("Gemm", v, net.weight(10, 16), net.constant(np.zeros(10)), transB=1)


def mobile(net: Net, x: str) -> str:
    """MobileNetV3: depthwise Conv, HardSwish spelt out, squeeze and excite, ReduceMean."""
    v = net.conv(x, 3, 16, strides=[2, 2])
    for _ in range(2):
        v = hard_swish(net, net.conv(v, 16, 16, group=16))
        squeezed = net.add("Relu", net.conv(net.add("GlobalAveragePool", v), 16, 8, 1))
        gate = net.add("HardSigmoid", net.conv(squeezed, 8, 16, 1), alpha=1 / 6)
        v = net.conv(net.add("Mul", v, gate), 16, 16, 1)
    return net.linear(net.mean(v, [2, 3], 0), 16, 10)


def hard_swish(net: Net, x: str) -> str:
    shifted = net.add("Add", x, net.constant(3.0))
    clipped = net.add("Clip", shifted, net.constant(0.0), net.constant(6.0))
    return net.add("Div", net.add("Mul", x, clipped), net.constant(6.0))


def unet(net: Net, x: str) -> str:
    """U-Net: MaxPool, Pad, ConvTranspose, Resize, Concat, LeakyRelu, Sigmoid."""
    first = net.add("LeakyRelu", net.conv(x, 3, 8), alpha=0.1)
    v = net.add("MaxPool", first, kernel_shape=[2, 2], strides=[2, 2])
    second = net.add("Relu", net.conv(v, 8, 16))
    v = net.add("Pad", second, net.ints(0, 0, 1, 1, 0, 0, 1, 1))
    v = net.add("Relu", net.conv(v, 16, 16, pads=[0] * 4))
    up = net.add("ConvTranspose", v, net.weight(16, 8, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
    scales = net.constant([1.0, 1, 2, 2])
    region = net.constant([]) if net.opset < 13 else ""
    near = net.add("Resize", second, region, scales, mode="nearest")
    v = net.add("Concat", first, up, near, axis=1)
    return net.add("Sigmoid", net.conv(v, 32, 2, 1))


def transformer(net: Net, x: str) -> str:
    """ViT: patches, attention by head with Softmax, LayerNormalization, Gelu by Erf, Gather."""
    v = net.conv(x, 3, 32, 4, strides=[4, 4], pads=[0] * 4)
    v = net.add("Transpose", net.add("Reshape", v, net.ints(1, 32, -1)), perm=[0, 2, 1])
    v = net.add("Add", v, net.constant(net.random.normal(0, 0.3, (1, 16, 32))))
    v = net.add("Add", attention(net, net.layer_norm(v, 32)), v)
    hidden = net.linear(net.layer_norm(v, 32), 32, 64)
    scaled = net.add("Erf", net.add("Div", hidden, net.constant(np.sqrt(2))))
    grown = net.add("Mul", hidden, net.add("Add", scaled, net.constant(1.0)))
    v = net.add("Add", net.linear(net.add("Mul", grown, net.constant(0.5)), 64, 32), v)
    token = net.add("Gather", v, net.constant(0, np.int64), axis=1)
    return net.add("Softmax", net.linear(token, 32, 10), axis=-1)


def attention(net: Net, x: str) -> str:
    heads = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        part = net.add("Reshape", net.linear(x, 32, 32), net.ints(1, 16, 4, 8))
        heads.append(net.add("Transpose", part, perm=perm))
    scores = net.add("Div", net.add("MatMul", heads[0], heads[1]), net.constant(np.sqrt(8)))
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), heads[2])
    joined = net.add("Transpose", mixed, perm=[0, 2, 1, 3])
    return net.linear(net.add("Reshape", joined, net.ints(1, 16, 32)), 32, 32)


def detector(net: Net, x: str) -> str:
    """YOLO: SiLU, Split, Slice, Concat, pools in a row, boxes decoded by Sub, Mul and Div."""
    v = silu(net, net.conv(x, 3, 16, strides=[2, 2]))
    left, right = net.split(v, 1, 2)
    right = silu(net, net.conv(right, 8, 8))
    pools = [right]
    for _ in range(2):
        pools.append(net.add("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2] * 4))
    v = silu(net, net.conv(net.add("Concat", left, *pools, axis=1), 32, 16, 1))
    v = net.add("Reshape", net.conv(v, 16, 6, 1), net.ints(1, 6, -1))
    centre = net.add("Slice", v, net.ints(0), net.ints(2), net.ints(1))
    size = net.add("Slice", v, net.ints(2), net.ints(4), net.ints(1))
    score = net.add("Sigmoid", net.add("Slice", v, net.ints(4), net.ints(6), net.ints(1)))
    half = net.add("Div", size, net.constant(2.0))
    boxes = net.add("Concat", net.add("Sub", centre, half), net.add("Add", centre, half), axis=1)
    return net.add("Concat", net.add("Mul", boxes, net.constant(0.5)), score, axis=1)


def silu(net: Net, x: str) -> str:
    return net.add("Mul", x, net.add("Sigmoid", x))


def speech(net: Net, x: str) -> str:
    """A keyword spotter: PRelu, Tanh, Abs, AveragePool, BatchNormalization alone, Where by mask."""
    v = net.add("PRelu", net.conv(x, 3, 16), net.constant(np.full((16, 1, 1), 0.25)))
    v = net.add("AveragePool", v, kernel_shape=[2, 2], strides=[2, 2])
    v = net.add("Tanh", net.batchnorm(net.conv(v, 16, 16), 16))
    v = net.add("Mul", v, net.add("Abs", v))
    v = net.add("AveragePool", v, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    mask = net.constant(net.random.random((1, 16, 4, 4)) < 0.7, np.bool_)
    v = net.add("Where", mask, v, net.constant(-1.0))
    v = (
        net.add("ReduceMax", v, axes=[2], keepdims=0)
        if net.opset < 18
        else net.add("ReduceMax", v, net.ints(2), keepdims=0)
    )
    return net.linear(net.add("Reshape", v, net.ints(1, 64)), 64, 6)


ARCHITECTURES: Mapping[str, Callable[[Net, str], str]] = {
    build.__name__: build for build in (residual, mobile, unet, transformer, detector, speech)
}
INPUT = ("x", (1, 3, 16, 16))


@dataclass(frozen=True)
class Setting:
    """How a net is quantized; the names are those of `onnxruntime.quantization.quantize_static`."""

    activation: str = "QUInt8"
    weight: str = "QInt8"
    per_channel: bool = False
    reduce_range: bool = False
    opset: int = 17
    options: tuple[tuple[str, Any], ...] = ()


SETTINGS: Mapping[str, Setting] = {
    "u8u8": Setting(weight="QUInt8", opset=13),
    "u8u8_op24": Setting(weight="QUInt8", opset=24),
    "u8s8_op11": Setting(opset=11),
    "u8s8_op21": Setting(opset=21),
    "u8s8_per_channel": Setting(per_channel=True),
    "u8s8_7bit": Setting(per_channel=True, reduce_range=True, opset=19),
    "s8s8": Setting("QInt8", opset=13),
    "s8s8_per_channel": Setting("QInt8", per_channel=True, opset=18),
    "s8s8_symmetric": Setting(
        "QInt8", per_channel=True, opset=21, options=(("ActivationSymmetric", True),)
    ),
    "tensorrt": Setting(
        "QInt8",
        per_channel=True,
        opset=17,
        options=(
            ("ActivationSymmetric", True),
            ("AddQDQPairToWeight", True),
            ("QuantizeBias", False),
            ("DedicatedQDQPair", True),
        ),
    ),
    "float_bias": Setting(options=(("QuantizeBias", False),)),
    "u16s8": Setting("QUInt16", opset=21),
    "s16s16": Setting("QInt16", "QInt16", opset=17),
}


def build_float(name: str, opset: int) -> ModelProto:
    """The net in float32; input x of (1, 3, 16, 16)."""
    net = Net(opset)
    output = ARCHITECTURES[name](net, INPUT[0])
    graph = helper.make_graph(
        net.nodes,
        name,
        [helper.make_tensor_value_info(INPUT[0], TensorProto.FLOAT, INPUT[1])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        initializer=net.constants,
    )
    opsets = [helper.make_opsetid("", opset)]
    ir_version = helper.find_min_ir_version_for(opsets)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def draw_inputs(count: int, seed: int = 0) -> list[Arrays]:
    random = np.random.default_rng(seed)
    return [{INPUT[0]: random.normal(0, 1, INPUT[1]).astype(np.float32)} for _ in range(count)]


class _Reader(CalibrationDataReader):
    def __init__(self) -> None:
        self._inputs: Iterator[Arrays] = iter(draw_inputs(8, seed=5))

    def get_next(self) -> Arrays | None:
        return next(self._inputs, None)


def build(name: str, setting: Setting, folder: Path) -> Path:
    """The QDQ model that onnxruntime's quantizer makes of a net, written into a folder."""
    source, path = folder / f"{name}.float.onnx", folder / f"{name}.onnx"
    onnx.save(build_float(name, setting.opset), source)
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            quantize_static(
                source,
                path,
                _Reader(),
                quant_format=QuantFormat.QDQ,
                per_channel=setting.per_channel,
                reduce_range=setting.reduce_range,
                activation_type=QuantType[setting.activation],
                weight_type=QuantType[setting.weight],
                extra_options=dict(setting.options),
            )
    finally:
        logging.disable(logging.NOTSET)
    return path
