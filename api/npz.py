"""Arrays by name from .npz files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qrewrite.engine.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_npz(path: str) -> dict[str, NDArray[Any]]:
    """All arrays of the file.  Raises FileError if it is none, or cannot be read."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored.items())
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no other file can be read"
        raise FileError(f"{path}: not an .npz file of arrays: {reason}") from None
