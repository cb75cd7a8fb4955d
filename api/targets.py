"""Which model goes where: the models of a command line and the files they are written to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qrewrite.engine.errors import FileError


@dataclass(frozen=True, slots=True)
class Target:
    """One model to rewrite; without `output` it is not written."""

    model: Path
    output: Path | None


def find_targets(inputs: Sequence[str], output: str | None) -> list[Target]:
    """The models behind `inputs` (files, or folders searched for *.onnx) and their output files.

    One model file goes to the file `output`, or under its own name into the folder `output`;
    several models, or a folder, keep their names and sub-folders under the folder `output`.

    Raises FileError where a model, or the folder that shall hold an output, does not exist or
    cannot be written, where a folder holds no model, or where two models would share an output.
    """
    found = [pair for name in inputs for pair in _models(Path(name))]
    if output is None:
        return [Target(model, None) for model, _ in found]
    place = Path(output)
    if len(inputs) == 1 and not Path(inputs[0]).is_dir() and not place.is_dir():
        if output.endswith(("/", os.sep)):
            raise FileError(f"the output folder {output} does not exist")
        _require_writable(place.parent)
        return [Target(found[0][0], place)]
    if not place.is_dir():
        raise FileError(f"the output of several models is a folder, and {output} is none")
    _require_writable(place)
    targets = [Target(model, place / relative) for model, relative in found]
    _refuse_shared(targets)
    return targets


def make_folders(targets: Sequence[Target], place: Path) -> None:
    """Make the sub-folders of `place` that the targets of a searched folder need."""
    for target in targets:
        if target.output is not None and target.output.parent != place:
            target.output.parent.mkdir(parents=True, exist_ok=True)


def _models(path: Path) -> list[tuple[Path, Path]]:
    """Model files with the path each has below the output folder."""
    if not path.is_dir():
        if not path.exists():
            raise FileError(f"there is no file {path}")
        return [(path, Path(path.name))]
    models = sorted(model for model in path.rglob("*.onnx") if model.is_file())
    if not models:
        raise FileError(f"the folder {path} holds no .onnx file")
    return [(model, model.relative_to(path)) for model in models]


def _require_writable(folder: Path) -> None:
    """Fail before the work, not after it, where the result could not be kept."""
    if not folder.is_dir():
        raise FileError(f"the output folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"the output folder {folder} is not writable")


def _refuse_shared(targets: Sequence[Target]) -> None:
    models: dict[Path | None, Path] = {}
    for target in targets:
        other = models.setdefault(target.output, target.model)
        if other != target.model:
            raise FileError(f"{other} and {target.model} would both be written to {target.output}")
