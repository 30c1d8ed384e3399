"""What a count stands for where a kernel does not say everything: the verdict tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from reducer_compat.passes.prove import Verdict
from tests.compat.counted import counting
from tests.compat.lowering import source

#: `T.symbolic` to 0.1.9.
dynamic = getattr(T, "dynamic", None) or T.symbolic


def indexed_by_data() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((256,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "int32")
            result = T.alloc_fragment((8,), "int32")
            T.reducer_init(acc)
            for i in T.Parallel(256):
                T.reducer_update(acc[A[i] % 8], 1)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def guarded_by_data() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((100,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(100):
                if A[i] > 0 and i < 90:
                    T.reducer_update(acc[0], A[i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def any_size() -> Any:
    size = dynamic("N")

    @T.prim_func
    def kernel(A: T.Tensor((size,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for k in T.serial(T.ceildiv(size, 128)):
                for i in T.Parallel(128):
                    if k * 128 + i < size:
                        T.reducer_update(acc[0], A[k * 128 + i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def as_long_as_data_says() -> Any:
    @T.prim_func
    def kernel(
        A: T.Tensor((4, 1024), "float32"), L: T.Tensor((4,), "int32"), B: T.Tensor((4,), "float32")
    ):
        with T.Kernel(4, threads=128) as bx:
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for k in T.serial(L[bx]):
                for i in T.Parallel(128):
                    T.reducer_update(acc[0], A[bx, k * 128 + i])
            T.finalize_reducer(acc, result)
            for i in T.Parallel(1):
                B[bx] = result[i]

    return kernel


def as_long_as_a_register_says() -> Any:
    @T.prim_func
    def kernel(
        A: T.Tensor((1024,), "float32"), L: T.Tensor((32,), "int32"), B: T.Tensor((1,), "float32")
    ):
        with T.Kernel(1, threads=128):
            length = T.alloc_local((1,), "int32")
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            length[0] = L[0]
            T.reducer_init(acc)
            for k in T.serial(length[0]):
                for i in T.Parallel(128):
                    T.reducer_update(acc[0], A[k * 128 + i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def in_the_last_block() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((5, 64), "float32"), B: T.Tensor((5,), "float32")):
        with T.Kernel(5, threads=64) as bx:
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            if bx == 4:
                T.reducer_init(acc)
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[bx, i])
                T.finalize_reducer(acc, result)
                T.copy(result, B[bx : bx + 1])

    return kernel


def in_the_third_block() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((5, 64), "float32"), B: T.Tensor((5,), "float32")):
        with T.Kernel(5, threads=64) as bx:
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            if bx == 2:
                T.reducer_init(acc)
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[bx, i])
                T.finalize_reducer(acc, result)
                T.copy(result, B[bx : bx + 1])

    return kernel


def long_and_pipelined() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((16, 8192), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((16, 128), "float32")
            acc = T.alloc_reducer((16,), "float32")
            result = T.alloc_fragment((16,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(64, num_stages=3):
                T.copy(A[0, k * 128], tile)
                for i, j in T.Parallel(16, 128):
                    T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def of_varying_length() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((10, 10), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for a in T.serial(10):
                for b in T.serial(a + 1):
                    for _ in T.Parallel(1):
                        T.reducer_update(acc[0], A[a, b])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def while_it_lasts() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            turn = T.alloc_local((1,), "int32")
            turn[0] = 0
            T.reducer_init(acc)
            while turn[0] < 3:
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[i])
                turn[0] = turn[0] + 1
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def adding_nothing() -> Any:
    """An update that a simplifier could drop."""

    @T.prim_func
    def kernel(B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "int32")
            result = T.alloc_fragment((1,), "int32")
            T.reducer_init(acc)
            for i in T.Parallel(32):
                T.reducer_update(acc[0], 0)
                T.reducer_update(acc[0], i * 2 + 1)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


LONG = "long loops counted for their first and last iterations, and for one in each copy"


@pytest.mark.parametrize(
    ("build", "contributions", "notes"),
    [
        (indexed_by_data, 2 * 256, ("indices that are data counted as 0 and 1",)),
        (guarded_by_data, 90, ()),
        (any_size, 300 + 37 + 5, ("N counted as 300, 37 and 5",)),
        (as_long_as_data_says, (2 + 2 + 3) * 128, (LONG, "L counted as 150, 19 and 3")),
        (
            as_long_as_a_register_says,
            3 * 128,
            ("the length of a loop is data: counted for a length of 3",),
        ),
        (in_the_last_block, 64, ()),
        (of_varying_length, 1 + 10, (LONG,)),
        (while_it_lasts, 64, ("a while loop counted for one turn",)),
        (adding_nothing, 64, ()),
    ],
)
def test_the_verdict_says_what_was_counted(
    build: Callable[[], Any], contributions: int, notes: tuple[str, ...]
) -> None:
    for verdict in _verdicts(build):
        assert (verdict.counted, verdict.contributions) == (True, contributions), str(verdict)
        assert verdict.notes == notes


def test_each_copy_of_a_pipelined_loop_is_counted() -> None:
    """A pass of TileLang writes the last iterations out, from 0.1.9 before the first count."""
    for verdict in _verdicts(long_and_pipelined):
        assert verdict.counted
        assert verdict.contributions in (2 * 16 * 128, 3 * 16 * 128, 4 * 16 * 128)
        assert verdict.notes == (LONG,)


def test_a_statement_of_a_block_that_was_not_looked_at_is_named() -> None:
    for verdict in _verdicts(in_the_third_block):
        assert verdict.counted
        assert verdict.contributions == 0
        assert len(verdict.notes) == 2
        for note in verdict.notes:
            assert note.startswith(f"{__file__}:")
            assert note.endswith("ran in no block that was counted")


def test_a_verdict_reads_as_a_sentence() -> None:
    planned, lowered = _verdicts(any_size)
    assert str(planned).startswith(
        "kernel, planned: 342 contributions, each exactly once in 384 slots "
        "(N counted as 300, 37 and 5), "
    )
    assert str(lowered).startswith("kernel, lowered: 342 contributions")


def _verdicts(build: Callable[[], Any]) -> list[Verdict]:
    with counting() as verdicts:
        source(build())
    return verdicts
