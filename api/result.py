"""The result of rewriting one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import ModelProto

from qrewrite.engine.graph import Model
from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.io.models import write_model
from qrewrite.engine.run.outcome import Applied
from qrewrite.summary import Summary

if TYPE_CHECKING:
    from qrewrite.explaining import Explanation
    from qrewrite.rewriting import Program


@dataclass(frozen=True)
class RewriteResult:
    """A rewritten model, and what was done to it."""

    summary: Summary
    """Rules fired, ops before and after, what was re-coded and why."""
    _view: Model = field(repr=False)
    _program: Program = field(repr=False)
    _applied: tuple[Applied, ...] = field(repr=False)

    @property
    def applied(self) -> Mapping[str, int]:
        """How often each rule fired, by `pack/rule`; rules that did not fire are not in it."""
        return {fired.rule: fired.times for fired in self.summary.fired}

    @cached_property
    def model(self) -> ModelProto:
        """The rewritten model; tensors that lie in external files stay there."""
        return to_proto(self._view)

    def explain(self, node: str = "", rule: str = "") -> Explanation:
        """Why a node, by its name or that of an output, stayed in float, or which rules took it.

        Without `node`: of all ops beside Q or DQ that stayed in float.  `rule`: what keeps this
        rule from applying.  `str()` of the result is what `qrewrite explain` prints.  Raises
        ModelError if there is no such node, RuleError if the packs have no such rule.
        """
        from qrewrite.explaining import Explainer

        explainer = Explainer(self._program, self._view, applied=self._applied)
        return explainer.node(node, rule=rule) if node else explainer.whole(rule=rule)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to `path`, the whole of it or nothing, with its external data beside it.

        Raises FileError if it cannot be written.
        """
        write_model(self._view, Path(path))
