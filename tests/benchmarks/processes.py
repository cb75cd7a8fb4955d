"""Whole processes, in turn in one run: ours beside onnxruntime and onnx_ir on a residual QDQ graph.

python tests/benchmarks/processes.py --nodes 1000 9000 90000 --rounds 3

qrewrite     load + rewrite + save by `qrewrite apply --pack ort-cpu`
onnxruntime  a session at ORT_ENABLE_EXTENDED with optimized_model_filepath
onnx_ir      deserialize + serialize, no rewrite at all
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import onnx
from residual import FUSIONS_PER_BLOCK, NODES_PER_BLOCK, write_residual

ONNXRUNTIME = """
import sys, onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
options.optimized_model_filepath = sys.argv[2]
options.log_severity_level = 3
ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
"""
ONNX_IR = """
import sys, onnx, onnx_ir
model = onnx_ir.serde.deserialize_model(onnx.load(sys.argv[1]))
onnx.save(onnx_ir.serde.serialize_model(model), sys.argv[2])
"""
COMMANDS = {
    "qrewrite": ["-m", "qrewrite.cli", "apply", "{in}", "-o", "{out}", "--pack", "ort-cpu"],
    "onnxruntime": ["-c", ONNXRUNTIME, "{in}", "{out}"],
    "onnx_ir": ["-c", ONNX_IR, "{in}", "{out}"],
}
PEERS = ["onnxruntime", "onnx_ir"]


@dataclass(frozen=True)
class Timing:
    """Of one program on one graph: medians over the rounds."""

    program: str
    nodes: int
    seconds: float
    """Wall clock."""
    cpu_seconds: float
    """Of the process, all its threads: hardly moved by what else the machine does."""
    peak_mib: float


def run_once(program: str, model: Path, output: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak resident memory (MiB) of one process."""
    places = {"{in}": str(model), "{out}": str(output)}
    command = [sys.executable, *(places.get(word, word) for word in COMMANDS[program])]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{program} failed on {model} with status {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def check_fused(output: Path, nodes: int) -> None:
    """A fast program that fuses nothing would be no comparison."""
    wanted = FUSIONS_PER_BLOCK * (nodes // NODES_PER_BLOCK)
    fused = sum(
        node.op_type in ("QLinearConv", "QLinearAdd") for node in onnx.load(output).graph.node
    )
    if fused != wanted:
        raise SystemExit(f"{output.name}: {fused} fused ops, expected {wanted}")


def measure(nodes: int, rounds: int, programs: list[str]) -> list[Timing]:
    runs: dict[str, list[tuple[float, float, float]]] = {program: [] for program in programs}
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / f"residual-{nodes}.onnx"
        write_residual(model, nodes)
        for _ in range(rounds):
            for program in programs:
                output = Path(folder) / f"{program}.onnx"
                runs[program].append(run_once(program, model, output))
                if program != "onnx_ir":
                    check_fused(output, nodes)
    return [
        Timing(
            program,
            nodes,
            *(statistics.median(values) for values in zip(*samples, strict=True)),
        )
        for program, samples in runs.items()
    ]


def show(timings: list[Timing]) -> None:
    """Print the timings of one graph, ours first."""
    ours = timings[0]
    for timing in timings:
        print(
            f"{timing.nodes:>7} nodes  {timing.program:<12}"
            f" {timing.seconds:8.3f} s ({timing.seconds / ours.seconds:5.2f} x ours)"
            f" {timing.cpu_seconds:8.3f} CPU s"
            f" ({timing.cpu_seconds / ours.cpu_seconds:5.2f} x ours)"
            f"  peak {timing.peak_mib:5.0f} MiB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 9_000, 90_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    timings: list[Timing] = []
    for nodes in arguments.nodes:
        measured = measure(nodes, arguments.rounds, ["qrewrite", *arguments.against])
        show(measured)
        timings += measured
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(timing) for timing in timings], indent=2))


if __name__ == "__main__":
    main()
