"""The errors of qrewrite: each carries one clear sentence and is shown to the user as it stands."""

from __future__ import annotations


class QrewriteError(Exception):
    """Base of all errors that a user can cause; `str(error)` is one sentence."""


class FileError(QrewriteError):
    """A file or folder cannot be read or written."""


class ModelError(QrewriteError):
    """The model is not a valid ONNX model, or uses a form that is not supported."""


class RuleError(QrewriteError):
    """A rule or pack is wrong, or a computation inside a rule failed."""


class CycleError(RuleError):
    """Rules keep feeding each other, so that the rewrite does not come to an end."""


class Refused(QrewriteError):
    """A rewrite was not applied, because the graph would not stay valid; `str()` is the reason."""


class InvariantError(QrewriteError):
    """The graph view is not consistent, or a rule misreported what it did (checked mode)."""
