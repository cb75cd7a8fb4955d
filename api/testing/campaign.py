"""Random models through a pack: `python -m qrewrite.testing.campaign PACK --models N`.

Each model is rewritten, checked, run and compared node by node, rewritten again (nothing may
change) and rewritten with the nodes in another order (the ops must be the same ones).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto

import qrewrite
from qrewrite.engine.errors import QrewriteError
from qrewrite.patterns.pack import Pack
from qrewrite.patterns.syntax import Claim

from .application import Applier
from .case import Case, feeds
from .compare import claims_of, compare_models
from .draws import RandomDraw
from .equivalence import op_counts
from .random_models import random_model
from .sessions import Array, CannotRun

PIECES = 9


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


def campaign(pack: Pack, models: int, seed: int, out: Path | None = None) -> Figures:
    """Run so many models; those with a problem are written to `out`."""
    figures = Figures()
    applier = Applier(pack)
    claims = claims_of(pack)
    for index in range(models):
        draw = RandomDraw(f"{seed} {index}")
        model, pinned = random_model(pack, pack.rules, PIECES, draw)
        if not model.graph.node:
            continue
        problem = _one(figures, applier, claims, model, pinned, index)
        if problem:
            figures.problems.append(f"model {index}: {problem}")
            if out is not None:
                out.mkdir(parents=True, exist_ok=True)
                onnx.save(model, out / f"model_{index}.onnx")
    return figures


def _one(
    figures: Figures, applier: Applier, claims: Mapping[str, Claim | None], model: ModelProto,
    pinned: dict[str, Array], index: int,
) -> str:  # fmt: skip
    """Count one model; what is wrong, or ""."""
    inputs = feeds(Case(model, pinned=pinned, seed=index))[:2]
    try:
        compare_models(model, model, inputs[:1])
    except CannotRun:
        figures.invalid += 1
        return ""
    try:
        once = applier.apply(model, {})
        figures.models += 1
        figures.firings += once.fired
        figures.fired.update(set(once.rules))
        onnx.checker.check_model(once.model, full_check=True)
        found = compare_models(model, once.model, inputs, claims=claims)
        figures.nodes += found.nodes
        if not found.passed:
            return "; ".join(found.beyond)
        again = applier.apply(once.model, {})
        if again.fired:
            return f"a second run still applies {sorted(set(again.rules))}"
        shuffled = applier.apply(model, {}, seed=index)
        if op_counts(shuffled.model) != op_counts(once.model):
            return f"another order gives other ops: {_apart(once.model, shuffled.model)}"
    except (QrewriteError, CannotRun, onnx.checker.ValidationError) as problem:
        return str(problem)
    return ""


def _apart(one: ModelProto, other: ModelProto) -> str:
    left, right = op_counts(one), op_counts(other)
    return f"{dict(left - right)} against {dict(right - left)}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m qrewrite.testing.campaign")
    parser.add_argument("pack")
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(argv)
    pack = qrewrite.load_pack(arguments.pack)
    np.seterr(all="ignore")
    figures = campaign(pack, arguments.models, arguments.seed, arguments.out)
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
