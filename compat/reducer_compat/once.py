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
#: For each question the answers, by the hashes of the nodes that it was asked of.
_ANSWERS: list[dict[int, Any]] = []
#: These nodes.
_NODES: list[Any] = []
_UNKNOWN = object()
_LOCK = threading.Lock()


class _Running:
    """How many passes run, in all threads."""

    count = 0


def once(ask: Callable[[Any], _A]) -> Callable[[Any], _A]:
    """A question about a node, asked once of each while passes run.

    Not for constants: the hash of one is its value.
    """
    answers: dict[int, Any] = {}
    _ANSWERS.append(answers)

    @functools.wraps(ask)
    def asked(node: Any) -> _A:
        key = hash(node)
        known: Any = answers.get(key, _UNKNOWN)
        answer: _A = ask(node) if known is _UNKNOWN else known
        if known is _UNKNOWN and _Running.count:
            _NODES.append(node)
            answers[key] = answer
        return answer

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
                _NODES.clear()
