"""An error as one sentence."""

from __future__ import annotations


def sentence(error: BaseException) -> str:
    """What went wrong, for an error that is the user's or the machine's and no defect of ours."""
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        return ": ".join([*names, error.strerror])
    if isinstance(error, MemoryError):
        return "not enough memory"
    return str(error)
