"""Which model goes where: the models of a command line and the files they are written to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qrewrite.engine.errors import FileError
from qrewrite.engine.io.atomic import check_target


@dataclass(frozen=True, slots=True)
class Target:
    """One model to rewrite; without `output` it is not written."""

    model: Path
    output: Path | None


def find_targets(inputs: Sequence[str], output: str | None) -> list[Target]:
    """The models behind `inputs` (files, or folders searched for *.onnx) and their output files.

    One model file goes to the file `output`, or under its own name into the folder `output`;
    several models, or a folder, keep their names and sub-folders under the folder `output`.

    Raises FileError where a model or the folder of an output does not exist, where an output
    cannot be written, where a folder holds no model, or where two models would share an output.
    """
    found = [pair for name in inputs for pair in _models(Path(name))]
    if output is None:
        return [Target(model, None) for model, _ in found]
    place = Path(output)
    if len(inputs) == 1 and not Path(inputs[0]).is_dir() and not place.is_dir():
        if output.endswith(("/", os.sep)):
            raise FileError(f"the output folder {output!r} does not exist")
        check_target(place)
        return [Target(found[0][0], place)]
    if not place.is_dir():
        reason = "is not a folder" if place.exists() else "does not exist"
        raise FileError(f"the output of several models goes to a folder, and {output!r} {reason}")
    targets = [Target(model, place / relative) for model, relative in found]
    _check_outputs(targets)
    return targets


def _models(path: Path) -> list[tuple[Path, Path]]:
    """Model files with the path each has below the output folder."""
    if not path.is_dir():
        if not path.exists():
            raise FileError(f"there is no file {str(path)!r}")
        return [(path, Path(path.name))]
    models = sorted(model for model in path.rglob("*.onnx") if model.is_file())
    if not models:
        raise FileError(f"the folder {str(path)!r} holds no .onnx file")
    return [(model, model.relative_to(path)) for model in models]


def make_folder(target: Target) -> None:
    """Make the sub-folder, of the output folder, that a model from a sub-folder is written to."""
    if target.output is not None:
        target.output.parent.mkdir(parents=True, exist_ok=True)


def _check_outputs(targets: Sequence[Target]) -> None:
    """Fail before the work, not after it, where a result could not be kept."""
    taken: dict[Path, Path] = {}
    for target in targets:
        assert target.output is not None
        if target.output.parent.exists():
            check_target(target.output)
        other = taken.setdefault(target.output, target.model)
        if other is not target.model:
            raise FileError(
                f"{str(other)!r} and {str(target.model)!r} would both be written to"
                f" {str(target.output)!r}"
            )
