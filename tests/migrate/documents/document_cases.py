"""Documents for tests: v1 code, its rewrite, and the bytes around them."""

from __future__ import annotations

import json
from typing import Any

V1 = """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
"""
V2 = """\
acc = T.alloc_reducer((1,), "float32")
acc_result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, acc_result)
T.copy(acc_result, B)
"""


def code(source: str | list[str]) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["T.clear(acc) \u00e9\n"]}]
    return {
        "cell_type": "code",
        "execution_count": 7,
        "id": "x",
        "metadata": {"tags": ["alloc_reducer"]},
        "outputs": outputs,
        "source": source,
    }


def notebook(*cells: dict[str, Any], indent: int | None = 1, ascii_only: bool = False) -> bytes:
    prose = {"cell_type": "markdown", "metadata": {}, "source": ["T.clear(acc) stays\n"]}
    book = {"cells": [prose, *cells], "metadata": {"z": 1, "a": 2}, "nbformat": 4}
    text = json.dumps(book, indent=indent, ensure_ascii=ascii_only)
    return text.encode() + b"\n"


def lines(text: str) -> list[str]:
    """A cell's source as Jupyter stores it: lines, the last without its end."""
    return text.removesuffix("\n").splitlines(keepends=True)
