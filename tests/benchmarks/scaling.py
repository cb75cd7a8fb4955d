"""In process, imports excluded, CPU time: a node by size of the graph, and the cost of more rules.

python tests/benchmarks/scaling.py --nodes 1000 9000 90000

nodes   load + rewrite + save by `ort-cpu`, microseconds a node
rules   the same by a pack of 10 rules and by one of 200, where each of the 190 others is rooted at
        Q over an op that occurs in the graph, is tried before the rule that fires there, and
        fails at its last guard
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from residual import write_residual

import qrewrite
from qrewrite.rewriting import Program, Recipe, rewrite_by

FIRING = ("conv", "add")
KEPT = 10
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
          scalar_grid(y), {value}.5 <= a.scale
 => y = com.microsoft::QLinearAdd(a, a.scale, a.zero_point, b, b.scale, b.zero_point,
                                  y.scale, y.zero_point)
    within 1 quantum of y
}}
"""


def write_packs(folder: Path, others: int) -> list[Program]:
    """A pack of ten rules of ort-cpu, and one with `others` failing ones beside these."""
    names = [entry.name for entry in qrewrite.load_pack("ort-cpu").rules_of("fuse")]
    kept = [*FIRING, *(name for name in names if name not in FIRING)][:KEPT]
    dropped = [e.name for e in qrewrite.load_pack("ort-cpu").rules if e.name not in kept]
    texts = {
        "few": f'pack few "ten rules" {{ extends ort-cpu without {", ".join(dropped)} }}',
        "many": 'pack many "more rules" { extends few }\nphase fuse\n'
        + "".join(
            (FAILING_CONV, FAILING_ADD)[index % 2].format(index=index, value=1000 + index)
            for index in range(others)
        ),
    }
    for name, text in texts.items():
        (folder / name).mkdir()
        (folder / name / "pack.rules").write_text(text)
    programs = [Recipe(packs=(folder / name,)).prepare() for name in texts]
    assert [len(program.pack.rules) for program in programs] == [KEPT, KEPT + others]
    return programs


def time_once(model: Path, program: Program, output: Path) -> float:
    """CPU seconds to load, rewrite and save, with a program that is compiled already."""
    start = time.process_time()
    result = rewrite_by(program, model)
    result.save(output)
    seconds = time.process_time() - start
    assert result.applied["onnx/conv"] == result.applied["ort-cpu/add"] > 0
    assert set(result.summary.after.values()) == {1, result.applied["onnx/conv"]}
    return seconds


def time_nodes(folder: Path, sizes: list[int], rounds: int) -> float:
    """Time a node at the last size by that at the first."""
    program = Recipe(packs=("ort-cpu",)).prepare()
    models = {size: folder / f"{size}.onnx" for size in sizes}
    for size, path in models.items():
        write_residual(path, size)
    samples: dict[int, list[float]] = {size: [] for size in sizes}
    time_once(models[sizes[0]], program, folder / "out.onnx")  # compiles
    for _ in range(rounds):
        for size, path in models.items():
            # Many small graphs make up the time of a large one: noise weighs the same.
            repeats = max(1, 20_000 // size)
            seconds = [time_once(path, program, folder / "out.onnx") for _ in range(repeats)]
            samples[size].append(statistics.mean(seconds))
    a_node = {size: statistics.median(samples[size]) / size for size in sizes}
    for size in sizes:
        ratio = f"{a_node[size] / a_node[sizes[0]]:5.2f} x that at {sizes[0]}"
        print(f"{size:>8} nodes  {1e6 * a_node[size]:6.2f} us a node  {ratio}", flush=True)
    return a_node[sizes[-1]] / a_node[sizes[0]]


def time_rules(folder: Path, size: int, rounds: int, others: int) -> float:
    """Time by the larger pack by that of the smaller one."""
    model = folder / "rules.onnx"
    write_residual(model, size)
    programs = write_packs(folder, others)
    samples: list[list[float]] = [[] for _ in programs]
    for _ in range(rounds + 1):
        for program, seconds in zip(programs, samples, strict=True):
            seconds.append(time_once(model, program, folder / "out.onnx"))
    # The first round compiles.
    medians = [statistics.median(seconds[1:]) for seconds in samples]
    for program, median in zip(programs, medians, strict=True):
        ratio = f"{median / medians[0]:5.2f} x"
        print(f"{len(program.pack.rules):>8} rules  {median:6.3f} s at {size} nodes  {ratio}")
    return medians[1] / medians[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 9_000, 90_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--others", type=int, default=190, help="failing rules in the larger pack")
    parser.add_argument("--json", type=Path, help="also write the ratios to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ratios = {
            "nodes": time_nodes(Path(folder), arguments.nodes, arguments.rounds),
            "rules": time_rules(
                Path(folder), arguments.nodes[-1], arguments.rounds, arguments.others
            ),
        }
    if arguments.json:
        arguments.json.write_text(json.dumps(ratios))


if __name__ == "__main__":
    main()
