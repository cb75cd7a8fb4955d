"""The command line: `qrewrite apply | explain | verify | diff | check | fmt | packs`.

Exit status: 0 done; 1 a check failed; 2 bad usage or bad input.  Whatever goes wrong by the user's
or the machine's doing is one sentence on stderr, never a traceback.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from qrewrite import __version__
from qrewrite.commands import apply, check, diff, explain, fmt, packs, verify
from qrewrite.engine.errors import QrewriteError
from qrewrite.sentence import sentence

BAD_INPUT = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
BROKEN_PIPE = 141  # 128 + SIGPIPE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="qrewrite",
        description="Rewrite quantized ONNX models by rules: fuse QDQ models for a backend.",
    )
    top.add_argument("--version", action="version", version=f"qrewrite {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (apply, explain, verify, diff, check, fmt, packs):
        command.add_parser(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (without the program's name); returns the exit status."""
    try:
        arguments = parser().parse_args(argv)
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone (`qrewrite packs | head`): keep the last flush quiet too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("qrewrite: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (QrewriteError, OSError, MemoryError) as error:
        print(f"qrewrite: {sentence(error)}", file=sys.stderr)
        return BAD_INPUT


def entry() -> NoReturn:
    """The console script.

    Leaves without the interpreter's tear-down: to free the objects of a large graph one by one
    takes a second, and the operating system does it at once.
    """
    # A stream that the caller has closed is None here: what is printed goes nowhere.
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    entry()
