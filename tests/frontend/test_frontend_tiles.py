"""Which loops go over a fragment whole, and in which order of its axes."""

from __future__ import annotations

import pytest
from frontend_cases import kernel, unit

from reducer_rules.timeline import Operands

HEAD = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4,), "float32")):
    with T.Kernel(1, threads=128):
"""
TILE = 'tile = T.alloc_fragment((4, 8), "float32")\nT.copy(A, tile)\n'
ACC = 'acc = T.alloc_reducer((4,), "float32", replication="all")\nT.clear(acc)\n'
LOOP = "for i, j in T.Parallel(4, 8):\n    acc[i] += tile[i, j]\n"


def tiles(body: str, before: str = TILE) -> list[tuple[str, ...]]:
    reducer = unit(kernel(before + ACC + body, HEAD)).reducers[-1]
    return [update.tile for update in reducer.timeline.updates]


@pytest.mark.parametrize(
    "body",
    [
        LOOP,
        "for j, i in T.Parallel(8, 4):\n    acc[i] += tile[i, j]\n",
        "for i in T.Parallel(4):\n    for j in T.Parallel(8):\n        acc[i] += tile[i, j]\n",
        "for i, j in T.Parallel(4, 8):\n    if tile[i, j] > 0:\n        acc[i] += 1\n",
        "for i, j in T.Parallel(4, 8):\n    tile[i, j] = 2\n    acc[i] += A[i, j]\n",
        "for i, j in T.Parallel(4, 8):\n    acc[i] += T.exp(tile[i, j]) * A[i, j]\n",
    ],
)
def test_loops_over_a_whole_fragment(body: str) -> None:
    assert tiles(body) == [("i", "j")]


def test_v2_spelling_and_a_fragment_of_fewer_axes_beside_it() -> None:
    before = TILE + 'top = T.alloc_fragment((4,), "float32")\nT.reduce_max(tile, top, dim=1)\n'
    body = "for i, j in T.Parallel(4, 8):\n    T.reducer_update(acc[i], tile[i, j] - top[i])\n"
    assert tiles(body, before) == [("i", "j")]


def test_a_fragment_of_one_element_decides_nothing() -> None:
    before = TILE + 'one = T.alloc_fragment((1,), "float32")\nT.copy(A[0, 0:1], one)\n'
    body = "for j, i in T.Parallel(8, 4):\n    acc[i] += tile[i, j] - one[0]\n"
    assert tiles(body, before) == [("i", "j")]
    assert tiles(body.replace("tile", "A"), before) == [("j", "i")]


def test_axes_in_another_order() -> None:
    assert tiles("for j, i in T.Parallel(8, 4):\n    acc[i] += tile[i, j]\n") == [("i", "j")]
    turned = 'tile = T.alloc_fragment((8, 4), "float32")\nT.fill(tile, 1)\n'
    assert tiles("for i, j in T.Parallel(4, 8):\n    acc[i] += tile[j, i]\n", turned) == [
        ("j", "i")
    ]


@pytest.mark.parametrize(
    "body",
    [
        "for i, j in T.Parallel(4, 8):\n    acc[i] += A[i, j]\n",
        "for i, j in T.Parallel(4, 4):\n    acc[i] += tile[i, j]\n",
        "for i, j in T.Parallel(4, 7):\n    acc[i] += tile[i, j + 1]\n",
        "for i, j in T.Parallel(4, n):\n    acc[i] += tile[i, j]\n",
        "for i in T.Parallel(4):\n    acc[i] += tile[i, 0]\n",
    ],
    ids=["memory", "a part", "an offset", "unknown extents", "one column"],
)
def test_loops_over_something_else(body: str) -> None:
    assert tiles(body) == [()]


def test_fragments_that_are_indexed_in_different_orders() -> None:
    square = 'a = T.alloc_fragment((8, 8), "float32")\nb = T.alloc_fragment((8, 8), "float32")\n'
    assert tiles("for i, j in T.Parallel(8, 8):\n    acc[0] += a[i, j] * b[i, j]\n", square) == [
        ("i", "j")
    ]
    assert tiles("for i, j in T.Parallel(8, 8):\n    acc[0] += a[i, j] * b[j, i]\n", square) == [()]


@pytest.mark.parametrize("operation", ["T.gemm(A, B, tile)", "T.gemm(A, B, tile[0:4, :])"])
def test_an_operation_that_lays_the_fragment_out(operation: str) -> None:
    assert tiles(LOOP, TILE + operation + "\n") == [()]
    assert tiles(LOOP, TILE + "T.clear(tile)\n") == [("i", "j")]


@pytest.mark.parametrize(
    ("copy", "staged"),
    [
        ("T.copy(A, s)", True),
        ("T.copy(A[0, 0], s[0:4, 0:8])", True),
        ("T.copy(A, f)", False),
        ("T.copy(s, f)", False),
    ],
)
def test_pipelines_that_copy_to_shared_memory(copy: str, staged: bool) -> None:
    before = 's = T.alloc_shared((4, 8), "float32")\nf = T.alloc_fragment((4, 8), "float32")\n'
    body = "for k in T.Pipelined(4, num_stages=2):\n    COPY\n    for i in T.Parallel(4):\n"
    body = body.replace("COPY", copy) + "        acc[i] += s[i, 0]\n"
    (reducer,) = unit(kernel(before + ACC + body, HEAD)).reducers
    (update,) = reducer.timeline.updates
    assert [loop.staged for loop in update.loops] == [staged, False]


BESIDE = """\
s = T.alloc_shared((4,), "float32")
few = T.alloc_fragment((4,), "float32")
top = T.alloc_fragment((4,), "float32")
T.copy(A[0:4, 0], s)
T.copy(s, few)
T.reduce_max(tile, top, dim=1)
"""


def beside(body: str) -> tuple[tuple[tuple[str, ...], ...], bool]:
    (reducer,) = unit(kernel(TILE + BESIDE + ACC + body, HEAD)).reducers
    (update,) = reducer.timeline.updates
    return update.part_tiles, update.touches_memory


@pytest.mark.parametrize(
    ("body", "parts", "memory"),
    [
        (LOOP, (), False),
        ("for i, j in T.Parallel(4, 8):\n    acc[i] += tile[i, j] * few[i]\n", (("i",),), False),
        ("for i, j in T.Parallel(4, 8):\n    acc[i] += few[i] * A[i, j]\n", (("i",),), True),
        ("for i, j in T.Parallel(4, 8):\n    acc[i] += tile[i, j] - top[i]\n", (), False),
        ("for i in T.Parallel(4):\n    acc[i] += few[i] + s[i]\n", (), True),
        ("for i, j in T.Parallel(3, 8):\n    acc[i] += few[i]\n", (), False),
        ("for i, j in T.Parallel(4, 8):\n    acc[i] += few[3 - i]\n", (), False),
        (
            "for i, j in T.Parallel(4, 8):\n    tile[i, j] = s[i]\n    acc[i] += few[i]\n",
            (("i",),),
            False,
        ),
    ],
)
def test_what_a_nest_has_beside_its_tile(
    body: str, parts: tuple[tuple[str, ...], ...], memory: bool
) -> None:
    assert beside(body) == (parts, memory)


CLOSED = """\
q = T.alloc_fragment((4,), "float32")
T.reducer_init(r)
for i in T.Parallel(4):
    T.reducer_update(r[i], A[i, 0])
T.finalize_reducer(r, q)
"""


@pytest.mark.parametrize(
    ("use", "stored"),
    [
        ("T.copy(q, B)", True),
        ("for i in T.Parallel(4):\n    B[i] = q[i] * 2", True),
        ("for i in T.Parallel(4):\n    B[i] = q[0]", False),
        ("for i in T.Parallel(4):\n    tile[i, 0] = q[i]", False),
        ("B[0] = q[0]", False),
        ("if T.get_thread_binding() == 0:\n    B[0] = q[0]", True),
        ("tx = T.get_thread_binding()\nif tx == 0:\n    B[0] = q[0]", True),
        ("if T.get_thread_binding() == 1:\n    B[0] = q[0]", False),
        ("if n == 0:\n    B[0] = q[0]", False),
        ("T.gemm(q, tile, B)", False),
        ("T.copy(q, B)\nx = q[1]", False),
    ],
)
def test_results_that_are_stored_and_read_for_nothing_else(use: str, stored: bool) -> None:
    body = TILE + 'r = T.alloc_reducer((4,), "float32")\n' + CLOSED + use + "\n"
    (reducer,) = unit(kernel(body, HEAD)).reducers
    (closing,) = reducer.timeline.finalizes
    assert closing.stored_only is stored


@pytest.mark.parametrize(
    ("shape", "statement", "by_tma"),
    [
        ("(4, 8)", "T.copy(A[0, 0], s)", True),
        ("(4, 2)", "T.copy(A[0, 0], s)", False),
        ("(4, n)", "T.copy(A[0, 0], s)", True),
        ("(4, 8)", "for r in T.serial(2):\n        T.copy(A[0, 0], s)", False),
        ("(4, 8)", "if k > 0:\n        T.copy(A[0, 0], s)", True),
    ],
)
def test_copies_that_tma_may_make(shape: str, statement: str, by_tma: bool) -> None:
    before = f's = T.alloc_shared({shape}, "float32")\n'
    rest = "    for i in T.Parallel(4):\n        acc[i] += A[i, k]\n"
    if statement.startswith("if"):
        rest = rest.replace("    for", "        for").replace("    acc", "        acc")
    body = f"for k in T.Pipelined(4, num_stages=2):\n    {statement}\n{rest}"
    (reducer,) = unit(kernel(before + ACC + body, HEAD)).reducers
    (update,) = reducer.timeline.updates
    (pipelined,) = (loop for loop in update.loops if loop.staged)
    assert pipelined.by_tma is by_tma


@pytest.mark.parametrize(
    ("value", "operands"),
    [
        ("A[i, j]", Operands.MEMORY),
        ("A[i, j] - total[0]", Operands.ELEMENTWISE),
        ("tile[i, j]", Operands.ELEMENTWISE),
    ],
)
def test_a_finalized_reducer_is_a_fragment_to_the_loops_that_read_it(
    value: str, operands: Operands
) -> None:
    before = 'total = T.alloc_reducer((1,), "float32", replication="all")\nT.clear(total)\n'
    before += "for i in T.Parallel(4):\n    total[0] += A[i, 0]\nT.finalize_reducer(total)\n"
    body = f"for i, j in T.Parallel(4, 8):\n    acc[i] += {value}\n"
    first, second = unit(kernel(TILE + before + ACC + body, HEAD)).reducers
    assert [update.operands for update in first.timeline.updates] == [Operands.MEMORY]
    assert [update.operands for update in second.timeline.updates] == [operands]
