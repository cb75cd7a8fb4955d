"""A program's run on a model, stopped after some of its rewrites: the same each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto

from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.io.models import read_model
from qrewrite.explaining import compiled_phases, run_program
from qrewrite.patterns.explain.recording import Firing, Recorder
from qrewrite.patterns.syntax import Lossy
from qrewrite.rewriting import Program


@dataclass(frozen=True)
class State:
    """A model after some rewrites."""

    model: ModelProto
    firings: Sequence[Firing]
    made: Mapping[str, str]
    """Node -> the rules that made it, separated by spaces."""


def replay(program: Program, model: ModelProto, stop_after: int | None = None) -> State:
    """After so many rewrites, all unless given; `model` is left as it is."""
    view = read_model(model, anchors=program.anchors, declared=program.schemas)
    recorder = Recorder(compiled_phases(program.phases), stop_after)
    run_program(program, view, recorder.phases)
    proto = to_proto(view)
    return State(proto, recorder.firings, {n.name: n.rule for n in view.nodes() if n.rule})


def last_rounding(program: Program, firings: Sequence[Firing]) -> int:
    """Number of the last rewrite by a lossy rule; 0 if there is none."""
    lossy = {r.full_name for r in program.pack.rules if isinstance(r.rule.claim, Lossy)}
    return max((n for n, firing in enumerate(firings, 1) if firing.name in lossy), default=0)


def rounded_model(program: Program, model: ModelProto) -> ModelProto | None:
    """The model after the last rewrite by a lossy rule; None if none fires.

    What follows is within the claims of rules that are not lossy.
    """
    number = last_rounding(program, replay(program, model).firings)
    return replay(program, model, number).model if number else None
