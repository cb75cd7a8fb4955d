"""A rule, applied to a graph: what it fired, and that the result is valid and means the same."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.io.models import read_model
from qrewrite.engine.run.fixpoint import run as run_phases
from qrewrite.loading import load_pack
from qrewrite.patterns.packs.declared_ops import declared_schema
from qrewrite.patterns.packs.options import settings
from qrewrite.patterns.program import compile_pack

from ..rules.checks import assert_close, assert_valid, operations, run
from ..rules.graphs import feeds


@dataclass(frozen=True)
class Result:
    model: ModelProto
    fired: Counter[str]

    def node(self, op: str) -> onnx.NodeProto:
        """The only node of this op."""
        [found] = [node for node in self.model.graph.node if node.op_type == op]
        return found

    def attributes(self, op: str) -> dict[str, object]:
        return {
            each.name: onnx.helper.get_attribute_value(each) for each in self.node(op).attribute
        }

    def content(self, name: str) -> np.ndarray:
        """An initializer by name."""
        [found] = [each for each in self.model.graph.initializer if each.name == name]
        return numpy_helper.to_array(found)

    def constant(self, op: str, slot: int) -> np.ndarray:
        return self.content(self.node(op).input[slot])

    def count(self, op: str) -> int:
        return operations(self.model)[op]


def rewritten(rules: str, model: ModelProto, seed: int | None = None, **options: object) -> Result:
    """Apply a rule file; every commit is checked by the engine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.rules"
        path.write_text(rules, encoding="utf-8")
        pack = load_pack(rules=(path,))
    known = settings(pack, options)
    schemas = [declared_schema(each) for each in pack.declarations.values()]
    view = read_model(model, declared=schemas)
    outcome = run_phases(view, compile_pack(pack, known), known, checked=True, seed=seed)
    return Result(to_proto(view), Counter(each.rule for each in outcome.applied))


def check(
    rules: str,
    model: ModelProto,
    fired: Mapping[str, int],
    quanta: float = 0,
    relative: float = 1e-6,
    sizes: dict[str, int] | None = None,
    **options: object,
) -> Result:
    """The rules fire so often in two orders; the result is valid and gives the same numbers."""
    result = rewritten(rules, model, **options)
    assert dict(result.fired) == dict(fired)
    assert rewritten(rules, model, seed=3, **options).fired == result.fired
    assert_valid(result.model)
    for seed in range(2):
        given = feeds(model, seed, sizes)
        assert_close(run(model, given), run(result.model, given), quanta, relative)
    if not fired:
        assert operations(result.model) == operations(model)
    return result
