"""What a rewrite tells about itself: hints it dropped, results that may round differently."""

from __future__ import annotations

import pytest

from reducer_migrate.engine import Options, analyse
from reducer_migrate.rewriting import rewrite
from reducer_migrate.source import Source

NARROW = """\
x = T.alloc_fragment((8,), "float32")
acc = T.alloc_reducer((1,), "float16", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += x[i]
T.finalize_reducer(acc{batch})
T.copy(acc, B)
"""


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ("", [("RM225", "warning", 5, 1 + 4)]),
        (", batch=1", [("RM225", "warning", 5, 1 + 4)]),
        (", batch=4", [("RM225", "warning", 5, 1 + 4), ("RM111", "note", 6, 1)]),
    ],
)
def test_notes_have_the_positions_of_the_original(
    batch: str, expected: list[tuple[str, str, int, int]]
) -> None:
    source = Source.of(NARROW.format(batch=batch))
    result = rewrite(source, analyse(source, Options()), Options())

    assert "T.finalize_reducer(acc, acc_result)" in result.text
    assert [(d.code, d.severity.value, d.start.line, d.start.column) for d in result.notes] == (
        expected
    )
    assert result.remaining == ()
