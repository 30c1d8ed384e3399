"""What the passes ask of TIR again and again, asked once.

A node never changes, and every question about one goes through C++. While a pass runs, answers
stay with the nodes that they are about; a node that is kept keeps its place in memory, which is
its hash.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_A = TypeVar("_A")
#: For each question the nodes that it was asked of, by their hashes, with the answers.
_ANSWERS: list[dict[int, tuple[Any, Any]]] = []
_LOCK = threading.Lock()


class _Running:
    """How many passes run, in all threads."""

    count = 0


def once(ask: Callable[[Any], _A]) -> Callable[[Any], _A]:
    """A question about a node, asked once of each while passes run.

    Not for constants: the hash of one is its value.
    """
    answers: dict[int, tuple[Any, _A]] = {}
    _ANSWERS.append(answers)

    @functools.wraps(ask)
    def asked(node: Any) -> _A:
        key = hash(node)
        known = answers.get(key)
        if known is None:
            known = node, ask(node)
            if _Running.count:
                answers[key] = known
        return known[1]

    return asked


@contextlib.contextmanager
def answers_kept() -> Iterator[None]:
    """Keep answers within, until the last of the passes that run at the same time is done."""
    with _LOCK:
        _Running.count += 1
    try:
        yield
    finally:
        with _LOCK:
            _Running.count -= 1
            if not _Running.count:
                for answers in _ANSWERS:
                    answers.clear()
