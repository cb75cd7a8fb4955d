"""In process, imports excluded: time a node by size of the graph, and the cost of more rules.

python tests/benchmarks/scaling.py --nodes 1000 9000 90000

nodes   load + rewrite + save by `ort-cpu`, microseconds a node
rules   the same by a pack of 10 rules and by one of 200, where each of the 190 others is rooted at
        Q over an op that occurs in the graph, is tried before the rule that fires there, and
        fails at its last guard
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from residual import write_residual

import qrewrite
from qrewrite.patterns.pack import Pack

KEPT = (
    "conv",
    "add",
    "mul",
    "matmul",
    "gemm",
    "sigmoid",
    "leaky_relu",
    "concat",
    "average_pool",
    "global_average_pool",
)
FAILING_CONV = """
rule failing_conv_{index} priority 1 {{
    y = Q(Conv<*attrs>(DQ(x), DQ(w), DQ(b)?))
    where product_types(x, w), y.type == x.type, scalar_grid(x), scalar_grid(y),
          per_tensor_or_axis(w, 0), normal_multiplier(x, w, y), b.type == i32, b.zero_point == 0,
          close(b.scale, x.scale * w.scale), dim(w, 0) == {value}
 => y = QLinearConv<*attrs>(x, x.scale, x.zero_point, w, w.scale, w.zero_point,
                            y.scale, y.zero_point, b?)
    within 1 quantum of y
}}
"""
FAILING_ADD = """
rule failing_add_{index} priority 1 {{
    y = Q(Add(DQ(a), DQ(b)))
    where a.type in {{u8, i8}}, b.type == a.type, y.type == a.type, scalar_grid(a), scalar_grid(b),
          scalar_grid(y), a.scale == {value}.5
 => y = com.microsoft::QLinearAdd(a, a.scale, a.zero_point, b, b.scale, b.zero_point,
                                  y.scale, y.zero_point)
    within 1 quantum of y
}}
"""


def write_packs(folder: Path, others: int) -> tuple[Pack, Pack]:
    """A pack of ten rules of ort-cpu, and one with `others` failing ones beside these."""
    names = [entry.name for entry in qrewrite.load_pack("ort-cpu").rules]
    dropped = ", ".join(name for name in names if name not in KEPT)
    texts = {
        "few": f'pack few "ten rules" {{ extends ort-cpu without {dropped} }}',
        "many": 'pack many "more rules" { extends few }\nphase fuse\n'
        + "".join(
            (FAILING_CONV, FAILING_ADD)[index % 2].format(index=index, value=1000 + index)
            for index in range(others)
        ),
    }
    for name, text in texts.items():
        (folder / name).mkdir()
        (folder / name / "pack.rules").write_text(text)
    few, many = (qrewrite.load_pack(folder / name) for name in texts)
    assert (len(few.rules), len(many.rules)) == (len(KEPT), len(KEPT) + others)
    return few, many


def time_once(model: Path, pack: Pack, output: Path) -> float:
    start = time.perf_counter()
    result = qrewrite.rewrite(model, pack)
    result.save(output)
    seconds = time.perf_counter() - start
    blocks = result.summary.nodes_after // 2
    assert (result.applied["onnx/conv"], result.applied["ort-cpu/add"]) == (blocks - 1, blocks - 1)
    return seconds


def time_nodes(folder: Path, sizes: list[int], rounds: int) -> None:
    pack = qrewrite.load_pack("ort-cpu")
    models = {size: folder / f"{size}.onnx" for size in sizes}
    for size, path in models.items():
        write_residual(path, size)
    samples: dict[int, list[float]] = {size: [] for size in sizes}
    time_once(models[sizes[0]], pack, folder / "out.onnx")
    for _ in range(rounds):
        for size, path in models.items():
            # Many small graphs make up the time of a large one: noise weighs the same.
            repeats = max(1, 20_000 // size)
            seconds = [time_once(path, pack, folder / "out.onnx") for _ in range(repeats)]
            samples[size].append(statistics.mean(seconds))
    for size in sizes:
        a_node = statistics.median(samples[size]) / size
        least = statistics.median(samples[sizes[0]]) / sizes[0]
        ratio = f"{a_node / least:5.2f} x that at {sizes[0]}"
        print(f"{size:>8} nodes  {1e6 * a_node:6.2f} us a node  {ratio}", flush=True)


def time_rules(folder: Path, size: int, rounds: int, others: int) -> None:
    model = folder / "rules.onnx"
    write_residual(model, size)
    packs = write_packs(folder, others)
    samples: dict[str, list[float]] = {pack.name: [] for pack in packs}
    for _ in range(rounds + 1):
        for pack in packs:
            samples[pack.name].append(time_once(model, pack, folder / "out.onnx"))
    first = 0.0
    for pack in packs:
        seconds = statistics.median(samples[pack.name][1:])
        first = first or seconds
        ratio = f"{seconds / first:5.2f} x"
        print(f"{len(pack.rules):>8} rules  {seconds:6.3f} s at {size} nodes  {ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 9_000, 90_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--others", type=int, default=190, help="failing rules in the larger pack")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        time_nodes(Path(folder), arguments.nodes, arguments.rounds)
        time_rules(Path(folder), arguments.nodes[-1], arguments.rounds, arguments.others)


if __name__ == "__main__":
    main()
