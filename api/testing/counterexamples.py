"""Counterexamples as files: the model, its inputs, and a text that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto

from qrewrite.patterns.packs.pack import Pack, PackRule

from .application import Applier
from .comparison import InvalidCase, Judgement, Original, judge, kernels_count
from .rule_report import Counterexample
from .sessions import Arrays


def save(found: Counterexample, rule: str, source: str, folder: Path) -> Path:
    """Write NAME.onnx, NAME.npz and NAME.txt; the path of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{rule.replace('/', '.')}.onnx"
    onnx.save(found.case.model, path)
    arrays: dict[str, Any] = {name: np.asarray(array) for name, array in found.inputs.items()}
    np.savez(path.with_suffix(".npz"), **arrays)
    facts = {"options": dict(found.case.options), "roots": list(found.case.roots)}
    command = f"qrewrite verify {source} --rule {rule} --replay {path}"
    text = [
        f"{rule}: {found.problem}",
        f"replay: {command}",
        f"facts: {json.dumps(facts)}",
        "",
        onnx.printer.to_text(found.case.model),
        *(f"{name} = {np.array2string(np.asarray(a))}" for name, a in found.inputs.items()),
        "",
    ]
    path.with_suffix(".txt").write_text("\n".join(text))
    return path


def replay(pack: Pack, rule: PackRule, path: Path) -> Judgement:
    """Judge the rule on a saved counterexample.

    Raises OSError if it is not there, InvalidCase if its model cannot be run.
    """
    model = onnx.load(path)
    with np.load(path.with_suffix(".npz")) as stored:
        inputs: Arrays = dict(stored.items())
    facts = _facts(path.with_suffix(".txt"))
    rewritten = Applier(pack, rule).apply(model, facts.get("options", {}))
    if not rewritten.fired:
        return Judgement()
    count = kernels_count(model, rewritten.model, facts.get("options", {}))
    original = Original(model, [inputs])
    return judge(original, rewritten.model, rule.rule.claim, facts.get("roots", ()), count)


def _facts(path: Path) -> dict[str, Any]:
    for line in path.read_text().splitlines():
        if line.startswith("facts: "):
            found: dict[str, Any] = json.loads(line.removeprefix("facts: "))
            return found
    return {}


def size(model: ModelProto) -> int:
    """Nodes of a model, those of branches as well."""
    return sum(
        1 + sum(len(each.g.node) for each in node.attribute if each.HasField("g"))
        for node in model.graph.node
    )


__all__ = ["Counterexample", "InvalidCase", "replay", "save", "size"]
