"""What the producers of a warp-specialized loop would have to themselves."""

from __future__ import annotations

import pytest
from frontend_cases import kernel, unit

HEAD = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((4, 32), "float32"), B: T.Tensor((4,), "float32")):
    with T.Kernel(1, threads=128):
"""
BUFFERS = """\
s = T.alloc_shared((32,), "float32")
t = T.alloc_shared((32,), "float32")
f = T.alloc_fragment((32,), "float32")
g = T.alloc_fragment((32,), "float32")
v = T.alloc_local((1,), "float32")
acc = T.alloc_reducer((1,), "float32")
"""
READ = "T.copy(s, g)"
OF_TILE = "for i in T.Parallel(32):\n    T.reducer_update(acc[0], s[i])"
OF_MEMORY = "for i in T.Parallel(32):\n    T.reducer_update(acc[0], A[k, i])"
OF_FRAGMENT = "for i in T.Parallel(32):\n    T.reducer_update(acc[0], f[i])"


def withheld(*statements: str, loop: str = "T.Pipelined(4, num_stages=2)", before: str = "") -> str:
    """Which events of a loop are withheld from its consumers: an `i` each opening, a `u` update."""
    inside = "\n".join(statements).replace("\n", "\n    ")
    body = f"{BUFFERS}{before}for k in {loop}:\n    {inside}\nT.finalize_reducer(acc, B)\n"
    (reducer,) = unit(kernel(body, HEAD)).reducers
    timeline = reducer.timeline
    for event in (*timeline.inits, *timeline.updates):
        if event.withheld is not None:
            assert event.withheld in event.loops
    marked = [("i", each) for each in timeline.inits] + [("u", each) for each in timeline.updates]
    return "".join(kind for kind, event in marked if event.withheld is not None)


SEEDED = "T.reducer_init(acc, A[k, 0])"
TILE = "T.copy(A[k, 0:32], s)"
HELD = "T.copy(A[k, 0:32], f)"


@pytest.mark.parametrize(
    ("statements", "found"),
    [
        ((SEEDED, TILE, OF_TILE), "i"),
        ((TILE, SEEDED, OF_TILE), "i"),
        (("T.reducer_init(acc, 1)", TILE, OF_TILE), ""),
        ((TILE, READ, SEEDED, OF_TILE), ""),
        ((TILE, OF_MEMORY, OF_TILE), "u"),
        ((TILE, OF_TILE, OF_MEMORY), ""),
        ((TILE, HELD, READ, OF_FRAGMENT), "u"),
        ((TILE, READ, HELD, OF_FRAGMENT), ""),
        ((HELD, TILE, OF_FRAGMENT.replace("f[i]", "f[i] * s[i]")), "u"),
        ((TILE, HELD, "T.clear(g)", READ, OF_FRAGMENT), ""),
        ((TILE, HELD, "v[0] = A[k, 0]", READ, OF_FRAGMENT), ""),
        ((TILE, HELD, "T.copy(t, g)", READ, OF_FRAGMENT), ""),
        ((HELD, OF_FRAGMENT), ""),
        ((TILE, 'h = T.alloc_fragment((32,), "float32")', SEEDED, OF_TILE), "i"),
        ((f"if k > 0:\n    {TILE}\n    {HELD}\n    {READ}", OF_FRAGMENT), ""),
        ((TILE, "for i in T.Parallel(32):\n    f[i] = A[k, i]", READ, OF_FRAGMENT), ""),
        ((TILE, "T.copy(A[k, 0:32], t)", READ, HELD, "T.copy(t, g)", OF_FRAGMENT), ""),
    ],
)
def test_what_stands_before_the_first_read_of_a_tile(
    statements: tuple[str, ...], found: str
) -> None:
    assert withheld(*statements) == found


def test_a_loop_that_is_an_if_alone() -> None:
    inside = "\n    ".join((TILE, HELD, READ, OF_FRAGMENT.replace("\n", "\n    ")))
    assert withheld(f"if k > 0:\n    {inside}") == "u"


@pytest.mark.parametrize("loop", ["T.Pipelined(4)", "T.Pipelined(4, num_stages=0)", "T.serial(4)"])
def test_loops_without_producers(loop: str) -> None:
    assert withheld(TILE, OF_MEMORY, OF_TILE, loop=loop) == ""


def test_only_the_first_pipeline_of_a_kernel_has_producers() -> None:
    first = f"for k in T.Pipelined(4, num_stages=2):\n    {TILE}\n    {READ}\n"
    assert withheld(TILE, OF_MEMORY, OF_TILE, before=first) == ""
