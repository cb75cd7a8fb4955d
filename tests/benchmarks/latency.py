"""Inference latency of fused files, in turn in one process beside onnxruntime's own fusion.

python tests/benchmarks/latency.py tests/models/*.onnx --rounds 9 --runs 40

For each model: ours is the file that `qrewrite apply --pack ort-cpu` writes, theirs the QDQ file;
both sessions have all of onnxruntime's optimizations on and one thread. Target x86-vnni is held
against their default options, target x86 against session.x64quantprecision=1. A third session,
theirs again, gives the noise: two equal sessions differ by that. Where its buffers lie makes
a session faster or slower for its whole life, so all are made anew several times.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

import qrewrite

PRECISE = {"x86-vnni": False, "x86": True}
"""Target: whether their session has x64quantprecision on."""

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Latency:
    """Of one model and target: medians over the rounds, of the medians over each one's runs."""

    model: str
    target: str
    theirs_ms: float
    ratio: float
    noise: float
    """Theirs again over theirs, as a distance from 1."""


def open_session(model: Path, precise: bool) -> onnxruntime.InferenceSession:
    """A session with one thread and all optimizations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if precise:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def make_feeds(session: onnxruntime.InferenceSession, seed: int) -> Feeds:
    """Random inputs; a dimension without a number is 1."""
    random = np.random.default_rng(seed)
    feeds: Feeds = {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in value.shape]
        if "float" in value.type:
            feeds[value.name] = random.standard_normal(shape).astype(np.float32)
        elif "bool" in value.type:
            feeds[value.name] = random.random(shape) < 0.5
        else:
            kind = value.type.removeprefix("tensor(").removesuffix(")")
            feeds[value.name] = random.integers(0, 2, shape).astype(kind)
    return feeds


def read_feeds(path: Path) -> Feeds:
    """The first case of a file with keys `case|input`."""
    with np.load(path) as arrays:
        first = next(iter(arrays)).split("|")[0]
        return {key.split("|", 1)[1]: arrays[key] for key in arrays if key.split("|")[0] == first}


def take_turns(sessions: list[onnxruntime.InferenceSession], feeds: Feeds, runs: int) -> np.ndarray:
    """Seconds of each run of each session, (runs, sessions); the order turns from run to run."""
    for session in sessions:
        for _ in range(5):
            session.run(None, feeds)
    seconds = np.zeros((runs, len(sessions)))
    for run in range(runs):
        for step in range(len(sessions)):
            which = (run + step) % len(sessions)
            start = time.perf_counter()
            sessions[which].run(None, feeds)
            seconds[run, which] = time.perf_counter() - start
    return seconds


def compare(
    model: Path, fused: Path, precise: bool, runs: int, inputs: Path | None
) -> tuple[float, float, float]:
    """Seconds of theirs, the ratio of ours to it, and of theirs again, with new sessions."""
    theirs, ours = open_session(model, precise), open_session(fused, precise=False)
    feeds = make_feeds(ours, seed=0) if inputs is None else read_feeds(inputs)
    again = open_session(model, precise)
    first, own, second = np.median(take_turns([theirs, ours, again], feeds, runs), axis=0)
    return float(first + second) / 2, float(2 * own / (first + second)), float(second / first)


def measure(
    model: Path, target: str, rounds: int, runs: int, inputs: Path | None
) -> Latency | None:
    """None where onnxruntime can make no session of its own."""
    try:
        open_session(model, PRECISE[target])
    except Exception as error:
        print(f"{model.name}: onnxruntime creates no session: {str(error)[:80]}")
        return None
    with tempfile.TemporaryDirectory() as folder:
        fused = Path(folder) / "fused.onnx"
        qrewrite.rewrite(model, "ort-cpu", options={"target": target}).save(fused)
        found = [compare(model, fused, PRECISE[target], runs, inputs) for _ in range(rounds)]
    theirs, ratio, _ = np.median(found, axis=0)
    noise = float(np.median([abs(each[2] - 1) for each in found]))
    return Latency(model.name, target, 1000 * float(theirs), float(ratio), noise)


def find_inputs(model: Path) -> Path | None:
    """The .npz beside the model whose name is the longest beginning of the model's."""
    found = [path for path in model.parent.glob("*.npz") if model.name.startswith(path.stem)]
    return max(found, key=lambda path: len(path.stem), default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", nargs="+", choices=list(PRECISE), default=list(PRECISE))
    parser.add_argument("--rounds", type=int, default=9, help="new sessions so many times")
    parser.add_argument("--runs", type=int, default=40, help="of each session")
    arguments = parser.parse_args()
    for target in arguments.target:
        ratios = []
        print(f"{'model':40} {'target':9} {'theirs ms':>9} {'ratio':>6} {'noise':>6}")
        for model in arguments.models:
            found = measure(model, target, arguments.rounds, arguments.runs, find_inputs(model))
            if found is not None:
                ratios.append(found.ratio)
                print(
                    f"{found.model:40} {target:9} {found.theirs_ms:9.3f} {found.ratio:6.3f} "
                    f"{found.noise:6.3f}",
                    flush=True,
                )
        print(f"median {statistics.median(ratios):.3f}, worst {max(ratios):.3f}\n")


if __name__ == "__main__":
    main()
