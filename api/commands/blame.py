"""`qrewrite apply --verify --blame`: the rewrite that is wrong, printed, and saved with its part of
the graph."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qrewrite.testing.blame import Blame

WIDTH = 80
_LABEL = 8


@dataclass(frozen=True, slots=True)
class SavedBlame:
    """A blame, and the files that show it."""

    blame: Blame
    before: str
    """The model the rule is wrong on."""
    after: str
    """What the rule makes of it."""
    inputs: str


def save_blame(blame: Blame, place: Path) -> SavedBlame:
    """Write PLACE.onnx, PLACE.after.onnx and PLACE.npz, each whole or not at all.

    FileError if one cannot be written.
    """
    import numpy as np

    from qrewrite.engine.io.atomic import replacing

    arrays = io.BytesIO()
    keyed: dict[str, Any] = {f"fault|{name}": array for name, array in blame.inputs.items()}
    np.savez(arrays, **keyed)
    contents = {
        ".onnx": blame.before.SerializeToString(deterministic=True),
        ".after.onnx": blame.after.SerializeToString(deterministic=True),
        ".npz": arrays.getvalue(),
    }
    paths = []
    for ending, content in contents.items():
        paths.append(place.with_name(f"{place.name}{ending}"))
        with replacing(paths[-1]) as file:
            file.write(content)
    return SavedBlame(blame, *map(str, paths))


def record(saved: SavedBlame) -> dict[str, object]:
    """As plain data, for JSON."""
    found = saved.blame
    return {
        "rule": found.rule,
        "title": found.title,
        "claim": found.claim,
        "place": found.place,
        "node": found.node,
        "op": found.op,
        "matched": list(found.matched),
        "rewrite": found.number,
        "rewrites": found.rewrites,
        "problem": found.problem,
        "halved": found.halved,
        "alone": found.alone,
        "beyond_without_rule": found.left,
        "before": saved.before,
        "after": saved.after,
        "inputs": saved.inputs,
    }


def print_blame(saved: SavedBlame) -> None:
    found = saved.blame
    print(f"to blame: rewrite {found.number} of {found.rewrites}")
    _line("rule", f'{found.rule} "{found.title}"' if found.title else found.rule)
    _line("claims", found.claim)
    _line("at", found.place)
    _line("node", f"{found.node} ({found.op})")
    _line("finds", found.problem)
    if not found.halved:
        _line("", "halving the run ended at a later rewrite, which is right by itself: the")
        _line("", "rewrites before it were tried one by one")
    _line("else", _rest(found.left))
    if found.alone:
        _line("alone", f"{saved.before} and, rewritten by the rule, {saved.after}")
    else:
        _line("alone", "the fault does not show on a part of the graph; the whole model before")
        _line("", f"and after the rewrite: {saved.before}, {saved.after}")
    print("\nthe difference by itself:")
    print(f"  qrewrite diff {saved.before} {saved.after} --inputs {saved.inputs}\n")


def _rest(left: int) -> str:
    if not left:
        return "without this rule no node is beyond the claims"
    nodes = "1 node is" if left == 1 else f"{left} nodes are"
    return f"without this rule {nodes} beyond the claims still: run it again with the rule mended"


def _line(label: str, text: str) -> None:
    for index, part in enumerate(wrap(text, WIDTH - 4 - _LABEL, break_on_hyphens=False)):
        print(f"    {label if not index else '':<{_LABEL}}{part}")
