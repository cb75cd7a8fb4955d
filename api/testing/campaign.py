"""Random models through a pack: `python -m qrewrite.testing.campaign PACK --models N`.

Each model is rewritten, checked, run and compared node by node, rewritten again (nothing may
change) and rewritten with the nodes in another order (the ops must be the same ones).
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto

import qrewrite
from qrewrite.engine.errors import QrewriteError
from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import Claim

from .application import Applier
from .case import Case, feeds
from .compare import claims_of, compare_models
from .draws import RandomDraw
from .equivalence import op_counts
from .pieces import Pieces
from .random_models import random_model
from .sessions import CannotRun, Session, traced

PIECES = 9
CHECKED = 10
"""In one of so many models the engine checks the links of its graph after each firing."""


@dataclass
class Figures:
    """What a campaign came to."""

    models: int = 0
    invalid: int = 0
    """Models that onnxruntime cannot run even before the rewrite."""
    nodes: int = 0
    """Nodes judged on their own."""
    fired: Counter[str] = field(default_factory=Counter)
    """Models in which each rule fired."""
    firings: int = 0
    problems: list[str] = field(default_factory=list)

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.models + other.models,
            self.invalid + other.invalid,
            self.nodes + other.nodes,
            self.fired + other.fired,
            self.firings + other.firings,
            self.problems + other.problems,
        )


def campaign(
    pack: Pack, models: Iterable[int], seed: int, out: Path | None = None
) -> Figures:  # fmt: skip
    """Run the models of these numbers; those with a problem are written to `out`."""
    figures = Figures()
    applier, claims = Applier(pack), claims_of(pack)
    pieces = Pieces(pack, figures.fired)
    for number in models:
        draw = RandomDraw(f"{seed} {number}")
        setting = pieces.setting(draw)
        model, pinned = random_model(pieces.make, setting, PIECES, draw)
        if not model.graph.node:
            continue
        case = Case(model, pinned=pinned, options=setting.options, seed=number)
        problem = _one(figures, applier, claims, case)
        if problem:
            figures.problems.append(f"model {number}: {problem} (options: {setting.options})")
            if out is not None:
                out.mkdir(parents=True, exist_ok=True)
                onnx.save(model, out / f"model_{number}.onnx")
    return figures


def _one(figures: Figures, applier: Applier, claims: Mapping[str, Claim | None], case: Case) -> str:
    """Count one model; what is wrong, or ""."""
    model, inputs = case.model, feeds(case)[:2]
    try:
        Session(traced(model)).run(inputs[0])
    except CannotRun:
        figures.invalid += 1
        return ""
    try:
        once = applier.apply(model, case.options, checked=case.seed % CHECKED == 0)
        figures.models += 1
        figures.firings += once.fired
        figures.fired.update(set(once.rules))
        onnx.checker.check_model(once.model, full_check=True)
        found = compare_models(model, once.model, inputs, claims=claims)
        figures.nodes += found.nodes
        if not found.passed:
            return "; ".join(found.beyond)
        again = applier.apply(once.model, case.options, checked=False)
        if again.fired:
            return f"a second run still applies {sorted(set(again.rules))}"
        shuffled = applier.apply(model, case.options, seed=case.seed, checked=False)
        if _apart(once.model, shuffled.model):
            return f"another order gives other ops: {_apart(once.model, shuffled.model)}"
    except (QrewriteError, CannotRun, onnx.checker.ValidationError) as problem:
        return str(problem)
    return ""


def _share(name: str, seed: int, out: Path | None, models: range) -> Figures:
    """What one worker does."""
    np.seterr(all="ignore")
    return campaign(qrewrite.load_pack(name), models, seed, out)


def _run(name: str, models: int, seed: int, out: Path | None, jobs: int) -> Figures:
    if jobs < 2:
        return _share(name, seed, out, range(models))
    shares = [range(first, models, jobs) for first in range(jobs)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        return sum(pool.map(partial(_share, name, seed, out), shares), Figures())


def _apart(one: ModelProto, other: ModelProto) -> str:
    """The ops of one model that the other has not, in words; which of two equal quantizers of
    different domains is left is a matter of order."""
    left, right = _undomained(op_counts(one)), _undomained(op_counts(other))
    return f"{dict(left - right)} against {dict(right - left)}" if left != right else ""


def _undomained(counts: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for op, count in counts.items():
        name = op.rpartition("::")[2]
        found[name if name in ("QuantizeLinear", "DequantizeLinear") else op] += count
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m qrewrite.testing.campaign")
    parser.add_argument("pack")
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args(argv)
    figures = _run(arguments.pack, arguments.models, arguments.seed, arguments.out, arguments.jobs)
    pack = qrewrite.load_pack(arguments.pack)
    print(
        f"{figures.models} models, {figures.invalid} that onnxruntime cannot run left out; "
        f"{figures.firings / max(figures.models, 1):.1f} rules fired a model, "
        f"{figures.nodes} nodes judged"
    )
    for rule in pack.rules:
        print(f"  {rule.full_name}: fired in {figures.fired[rule.full_name]} models")
    for problem in figures.problems:
        print(problem)
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main())
