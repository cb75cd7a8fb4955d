"""Several models, shared out among worker processes; a single model in this process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from qrewrite.engine.errors import QrewriteError
from qrewrite.engine.run.fixpoint import Progress
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


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process that rewrites one model after another, so that its rules are compiled once."""

    process: BaseProcess
    pipe: Connection
    """Takes targets, gives reports; its end is that of the process."""


def _run_parallel(
    recipe: Recipe, targets: Sequence[Target], workers: int
) -> Iterator[tuple[int, Report]]:
    """Reports with the index of their target, as they come in."""
    waiting = deque(enumerate(targets))
    idle = [_start(recipe) for _ in range(min(workers, len(targets)))]
    running: dict[Connection, tuple[_Worker, int]] = {}
    try:
        while waiting or running:
            while waiting and idle:
                worker, (index, target) = idle.pop(), waiting.popleft()
                worker.pipe.send(target)
                running[worker.pipe] = (worker, index)
            ready = set(wait(list(running)))
            for pipe in [each for each in running if each in ready]:
                worker, index = running.pop(pipe)
                report = _receive(worker)
                if report or waiting:
                    idle.append(worker if report else _start(recipe))
                yield index, report or _lost(worker, targets[index])
    finally:
        _end([*idle, *(worker for worker, _ in running.values())])


def _start(recipe: Recipe) -> _Worker:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_work, args=(recipe, theirs))
    process.start()
    theirs.close()  # so that the death of the process ends the pipe
    return _Worker(process, ours)


def _work(recipe: Recipe, pipe: Connection) -> None:
    """In the worker process, until it is ended.  An interrupt is the parent's to handle: it ends
    the worker by SIGTERM, which leaves by an exception, so that no temporary file stays."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
    program = recipe.prepare()
    parent = multiprocessing.parent_process()
    assert parent is not None
    # other workers hold copies of the parent's end of the pipe, so that alone does not tell
    while pipe in wait([pipe, parent.sentinel]):
        pipe.send(_rewrite(program, pipe.recv()))


def _receive(worker: _Worker) -> Report | None:
    """None where the worker died."""
    try:
        report: Report = worker.pipe.recv()
    except EOFError:
        return None
    return report


def _lost(worker: _Worker, target: Target) -> Report:
    worker.process.join()
    error = f"{target.model}: the worker process ended with status {worker.process.exitcode}"
    return Report(str(target.model), None, "", {}, 0.0, None, error)


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join()
