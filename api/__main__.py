"""`python -m qrewrite`."""

from __future__ import annotations

from qrewrite.cli import entry

entry()
