"""Lines of a function that is being written."""

from __future__ import annotations


class Lines:
    """Lines of Python; inside a loop they are indented once more."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self._names = 0
        self._start: int | None = None

    def name(self) -> str:
        """A local variable not used before."""
        self._names += 1
        return f"m{self._names}"

    def add(self, line: str) -> None:
        self.items.append(line)

    @property
    def in_loop(self) -> bool:
        return self._start is not None

    def open(self) -> None:
        self._start = len(self.items)

    def close(self, head: str) -> None:
        """Make what was added since ``open`` the body of a loop."""
        assert self._start is not None
        body = [f" {line}" for line in self.items[self._start :]]
        self.items[self._start :] = [head, *body]
        self._start = None
