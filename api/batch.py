"""Several models, each in a worker process of its own; a single model in this process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from qrewrite.engine.errors import QrewriteError
from qrewrite.engine.fixpoint import Progress
from qrewrite.progress import progress_line
from qrewrite.report import Report
from qrewrite.rewriting import Program, Recipe, rewrite_by
from qrewrite.sentence import sentence
from qrewrite.targets import Target, make_folder


def run_all(recipe: Recipe, targets: Sequence[Target], workers: int | None = None) -> list[Report]:
    """Rewrite and write every target, `workers` at a time (one a CPU); their reports, in order.

    Raises QrewriteError where rules or options are wrong, since that concerns all models; what is
    wrong with one of several models stands in its report, and the others go on.
    """
    program = recipe.prepare()
    if len(targets) == 1:
        with progress_line() as progress:
            return [_rewrite(program, targets[0], progress.update)]
    reports: dict[int, Report] = {}
    with progress_line() as progress:
        for index, report in _run_parallel(recipe, targets, workers or os.cpu_count() or 1):
            reports[index] = report
            progress.update(report.model, len(reports), len(targets) - len(reports))
    return [reports[index] for index in range(len(targets))]


def _rewrite(program: Program, target: Target, progress: Progress | None = None) -> Report:
    start = time.perf_counter()
    output = str(target.output) if target.output else None
    summary, error = None, ""
    try:
        result = rewrite_by(program, target.model, progress)
        if target.output:
            make_folder(target)
            result.save(target.output)
        summary = result.summary
    except (QrewriteError, OSError, MemoryError) as problem:
        error = sentence(problem)
        if str(target.model) not in error:
            error = f"{target.model}: {error}"
    seconds = time.perf_counter() - start
    name = program.pack.name
    return Report(str(target.model), output, name, program.options, seconds, summary, error)


def _run_parallel(
    recipe: Recipe, targets: Sequence[Target], workers: int
) -> Iterator[tuple[int, Report]]:
    """Reports with the index of their target, as they come in."""
    waiting = deque(enumerate(targets))
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                index, target = waiting.popleft()
                receiver, process = _start(recipe, target)
                running[receiver] = (index, process)
            ready = set(wait(list(running)))
            for receiver in [each for each in running if each in ready]:
                index, process = running.pop(receiver)
                yield index, _receive(receiver, process, recipe, targets[index])
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.join()


def _start(recipe: Recipe, target: Target) -> tuple[Connection, BaseProcess]:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_work, args=(recipe, target, sender))
    process.start()
    sender.close()  # so that the death of the process ends the pipe
    return receiver, process


def _work(recipe: Recipe, target: Target, sender: Connection) -> None:
    """In the worker process.  An interrupt is the parent's to handle: it ends the worker by
    SIGTERM, which leaves by an exception, so that no temporary file stays."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
    sender.send(_rewrite(recipe.prepare(), target))


def _receive(receiver: Connection, process: BaseProcess, recipe: Recipe, target: Target) -> Report:
    try:
        report: Report = receiver.recv()
    except EOFError:
        process.join()
        error = f"{target.model}: the worker process ended with status {process.exitcode}"
        report = Report(str(target.model), None, "", {}, 0.0, None, error)
    process.join()
    return report
