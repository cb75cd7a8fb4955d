"""A residual QDQ graph of any size: the graph on which speed is measured.

Per block nine nodes, with weights, bias and scales of their own:

    DQ DQ DQ Conv Q      conv of the block's input by int8 weights and an int32 bias
    DQ DQ Add Q          plus the block's input
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NODES_PER_BLOCK = 9
FUSIONS_PER_BLOCK = 2
CHANNELS = 4
SIDE = 4


class _Builder:
    def __init__(self, seed: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(seed)

    def constant(self, name: str, array: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], name: str, **attributes: object) -> str:
        output = f"{name}_out"
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def grid(self, prefix: str) -> list[str]:
        scale = np.float32(self.random.uniform(0.02, 0.08))
        zero_point = np.uint8(self.random.integers(118, 138))
        return [
            self.constant(f"{prefix}_scale", scale),
            self.constant(f"{prefix}_zero_point", zero_point),
        ]

    def block(self, index: int, x: str, x_grid: list[str]) -> tuple[str, list[str]]:
        """One block on the quantized tensor `x`; returns its output and that output's grid."""
        p = f"block{index}"
        x_scale = numpy_helper.to_array(self._initializer(x_grid[0]))
        weight_scale = np.float32(self.random.uniform(0.002, 0.02))
        weight = self.random.integers(-64, 65, (CHANNELS, CHANNELS, 3, 3)).astype(np.int8)
        bias = self.random.integers(-500, 501, CHANNELS).astype(np.int32)
        w = [
            self.constant(f"{p}_weight", weight),
            self.constant(f"{p}_weight_scale", weight_scale),
            self.constant(f"{p}_weight_zero_point", np.int8(0)),
        ]
        b = [
            self.constant(f"{p}_bias", bias),
            self.constant(f"{p}_bias_scale", np.float32(x_scale * weight_scale)),
            self.constant(f"{p}_bias_zero_point", np.int32(0)),
        ]
        operands = [
            self.node("DequantizeLinear", [x, *x_grid], f"{p}_dq_x"),
            self.node("DequantizeLinear", w, f"{p}_dq_w"),
            self.node("DequantizeLinear", b, f"{p}_dq_b"),
        ]
        conv = self.node("Conv", operands, f"{p}_conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        conv_grid = self.grid(f"{p}_conv")
        codes = self.node("QuantizeLinear", [conv, *conv_grid], f"{p}_q_conv")
        branches = [
            self.node("DequantizeLinear", [codes, *conv_grid], f"{p}_dq_conv"),
            self.node("DequantizeLinear", [x, *x_grid], f"{p}_dq_skip"),
        ]
        total = self.node("Add", branches, f"{p}_add")
        add_grid = self.grid(f"{p}_add")
        return self.node("QuantizeLinear", [total, *add_grid], f"{p}_q_add"), add_grid

    def _initializer(self, name: str) -> onnx.TensorProto:
        # The grid of a block's input was made by the block before, a few initializers back.
        return next(t for t in reversed(self.initializers) if t.name == name)


def residual_model(nodes: int, *, seed: int = 0) -> onnx.ModelProto:
    """A model of about `nodes` nodes (blocks of nine, a Q before them and a DQ after)."""
    builder = _Builder(seed)
    grid = builder.grid("input")
    x = builder.node("QuantizeLinear", ["input", *grid], "q_input")
    for index in range(max(1, nodes // NODES_PER_BLOCK)):
        x, grid = builder.block(index, x, grid)
    last = helper.make_node("DequantizeLinear", [x, *grid], ["output"], name="dq_output")
    shape = [1, CHANNELS, SIDE, SIDE]
    graph = helper.make_graph(
        [*builder.nodes, last],
        "residual",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)],
        builder.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def write_residual(path: Path, nodes: int) -> None:
    path.write_bytes(residual_model(nodes).SerializeToString())


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a residual QDQ model.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--nodes", type=int, default=9_000)
    arguments = parser.parse_args()
    write_residual(arguments.output, arguments.nodes)


if __name__ == "__main__":
    main()
