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

    def __init__(self, total: int | None, shown: bool) -> None:
        self._total = total
        self._shown = shown
        self._start = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def update(self, text: str, done: int) -> None:
        """`done` of the total (a mere count where there is no total), now at `text`."""
        if not self._shown or time.monotonic() - self._start < QUIET_SECONDS:
            return
        if self._bar is None:
            self._bar, self._task = _start_bar(self._total)
        assert self._task is not None
        self._bar.update(self._task, description=text, completed=done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress_line(total: int | None = None) -> Iterator[Progress]:
    progress = Progress(total, sys.stderr.isatty())
    try:
        yield progress
    finally:
        progress.close()


def _start_bar(total: int | None) -> tuple[Bar, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    count = "{task.completed}" if total is None else "{task.completed}/{task.total}"
    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), TextColumn(count)]
    bar = Bar(
        *columns,
        *([] if total is None else [BarColumn()]),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task("", total=total)
