"""The nodes that a phase has yet to look at: first in, first out, each at most once at a time."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator

from ..graph import Node


class Worklist:
    """A queue of nodes; with a seed, nodes come out in a random order that the seed determines."""

    __slots__ = ("_queue", "_random", "_waiting")

    def __init__(self, nodes: Iterable[Node], seed: int | None = None) -> None:
        self._queue: deque[Node] = deque(nodes)
        self._waiting = set(self._queue)
        self._random = random.Random(seed) if seed is not None else None
        if self._random is not None:
            shuffled = list(self._queue)
            self._random.shuffle(shuffled)
            self._queue = deque(shuffled)

    def add(self, node: Node) -> None:
        """Queue a node unless it is waiting already; O(1), with a seed too."""
        if node in self._waiting:
            return
        self._waiting.add(node)
        if self._random is not None and self._random.random() < 0.5:
            self._queue.appendleft(node)
        else:
            self._queue.append(node)

    def __iter__(self) -> Iterator[Node]:
        """Take the nodes one by one, those added meanwhile too, until none is left."""
        queue, waiting = self._queue, self._waiting
        while queue:
            node = queue.popleft()
            waiting.discard(node)
            yield node

    def __len__(self) -> int:
        return len(self._queue)
