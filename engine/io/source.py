"""Where a model came from: what goes out again where no rule fires."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto


@dataclass(frozen=True, slots=True)
class Source:
    """The model as it came in: the message, and the file it was read from if there is one."""

    proto: ModelProto
    path: Path | None
