"""A progress line on stderr for long work; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

QUIET_SECONDS = 0.5
"""Work that is done within this time shows no progress."""


class Progress:
    """Shows what is going on; the line appears once the work has taken some time."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._start = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def update(self, text: str, done: int, left: int) -> None:
        """`done` pieces of work are done and `left` are left, now at `text`."""
        if not self._shown or time.monotonic() - self._start < QUIET_SECONDS:
            return
        if self._bar is None:
            self._bar, self._task = _start_bar()
        assert self._task is not None
        self._bar.update(self._task, description=text, completed=done, total=done + left)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress_line() -> Iterator[Progress]:
    progress = Progress(sys.stderr.isatty())
    try:
        yield progress
    finally:
        progress.close()


def _start_bar() -> tuple[Bar, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task("")
