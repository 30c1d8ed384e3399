"""Software pipelines wait for the copies that are read next, and for no others."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import pipeline, simt
from reducer_compat.adapter import Adapter, adapter
from reducer_compat.passes import waits
from tests.compat.lowering import body, compiled, source
from tests.compat.share import dealt

#: Rows and columns of a tile, stages; from 512 columns on both operands are copied asynchronously.
TILES = [
    (16, 128, 2),
    (16, 128, 3),
    (16, 128, 4),
    (64, 128, 2),
    (32, 8, 2),
    (8, 512, 2),
    (8, 512, 3),
]
THREADS = 128


def gemv(rows: int, columns: int, stages: int, turns: int = 9) -> Any:
    """`A @ x` from tiles that are copied on to registers: two groups of copies a stage."""

    @T.prim_func
    def main(
        A: T.Tensor((2 * rows, turns * columns), "float16"),
        x: T.Tensor((turns * columns,), "float16"),
        y: T.Tensor((2 * rows,), "float32"),
    ):
        with T.Kernel(2, threads=THREADS) as bx:
            A_s = T.alloc_shared((rows, columns), "float16")
            x_s = T.alloc_shared((columns,), "float16")
            A_f = T.alloc_fragment((rows, columns), "float16")
            x_f = T.alloc_fragment((columns,), "float16")
            acc = T.alloc_reducer((rows,), "float32", op="sum")
            result = T.alloc_fragment((rows,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(turns, num_stages=stages):
                T.copy(A[bx * rows, k * columns], A_s)
                T.copy(x[k * columns], x_s)
                T.copy(A_s, A_f)
                T.copy(x_s, x_f)
                for i, j in T.Parallel(rows, columns):
                    T.reducer_update(acc[i], A_f[i, j].astype("float32") * x_f[j].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, y[bx * rows])

    return main


def guarded_gemv(rows: int, columns: int, stages: int, turns: int = 9) -> Any:
    """`A @ x` from shared memory, in tiles that some threads have no part of."""

    @T.prim_func
    def main(
        A: T.Tensor((rows, turns * columns), "float16"),
        x: T.Tensor((turns * columns,), "float16"),
        y: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(1, threads=THREADS):
            A_s = T.alloc_shared((rows, columns), "float16")
            x_s = T.alloc_shared((columns,), "float16")
            acc = T.alloc_reducer((rows,), "float32", op="sum")
            result = T.alloc_fragment((rows,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(turns, num_stages=stages):
                T.copy(A[0, k * columns], A_s)
                T.copy(x[k * columns], x_s)
                for i, j in T.Parallel(rows, columns):
                    T.reducer_update(acc[i], A_s[i, j].astype("float32") * x_s[j].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


def gemv_of_one_block(rows: int, columns: int, stages: int, turns: int) -> Any:
    """`A @ x`, several times over, in the arm of a branch that one of two blocks takes."""

    @T.prim_func
    def main(
        A: T.Tensor((rows, turns * columns), "float16"),
        x: T.Tensor((turns * columns,), "float16"),
        y: T.Tensor((2 * rows,), "float32"),
    ):
        with T.Kernel(2, threads=THREADS) as bx:
            A_s = T.alloc_shared((rows, columns), "float16")
            x_s = T.alloc_shared((columns,), "float16")
            acc = T.alloc_reducer((rows,), "float32", op="sum")
            result = T.alloc_fragment((rows,), "float32")
            if bx == 0:
                T.reducer_init(acc)
                for _ in range(3):
                    for k in T.Pipelined(turns, num_stages=stages):
                        T.copy(A[0, k * columns], A_s)
                        T.copy(x[k * columns], x_s)
                        for i, j in T.Parallel(rows, columns):
                            T.reducer_update(
                                acc[i], A_s[i, j].astype("float32") * x_s[j].astype("float32")
                            )
                T.finalize_reducer(acc, result)
                T.copy(result, y[0])
            else:
                for i in T.Parallel(rows):
                    y[rows + i] = 7.0

    return main


def in_place() -> Any:
    """A kernel that stores to what it copies from."""

    @T.prim_func
    def main(A: T.Tensor((16, 1024), "float32"), y: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=THREADS):
            A_s = T.alloc_shared((16, 128), "float32")
            acc = T.alloc_reducer((16,), "float32", op="sum")
            result = T.alloc_fragment((16,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[0, k * 128], A_s)
                for i, j in T.Parallel(16, 128):
                    T.reducer_update(acc[i], A_s[i, j])
                for i, j in T.Parallel(16, 128):
                    A[i, k * 128 + j] = A_s[i, j] + 1.0
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


def operands(kernel: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [[int(n) for n in kernel.buffer_map[p].shape] for p in list(kernel.params)[:2]]
    a, x = (rng.integers(-8, 9, shape).astype(np.float16) for shape in shapes)
    return a, x


def product(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (a.astype(np.float64) @ x.astype(np.float64)).astype(np.float32)


def without_flight(func: Any) -> Any:
    """A kernel that waits for all its copies, whenever it waits."""
    tir = adapter().tir

    def all_of_them(stmt: Any) -> Any:
        call = stmt.value
        if not str(getattr(getattr(call, "op", None), "name", "")).endswith(waits.WAIT):
            return None
        return tir.Evaluate(tir.Call(call.dtype, call.op, [tir.IntImm("int32", 0)]))

    kind = f"{tir.__name__.rsplit('.', 1)[-1]}.Evaluate"
    return func.with_body(tir.stmt_functor.ir_transform(func.body, None, all_of_them, [kind]))


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have the pass find kernels that wait for everything, and allow `more` than it found."""
    if adapter().pipelines_late:
        pytest.skip("this release keeps its waits as attributes")
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")
    monkeypatch.setattr(Adapter, "waits_by_stages", property(lambda self: True))

    def start(more: int = 0) -> None:
        real = waits.allowances
        found = lambda func: {wait: bound + more for wait, bound in real(func).items()}  # noqa: E731
        monkeypatch.setattr(waits, "allowances", found)
        monkeypatch.setattr(
            pipeline, "set_waits", lambda func: waits.set_waits(without_flight(func))
        )

    return start


def loop_waits(text: str) -> list[int]:
    """What is allowed in flight by each wait of the pipelined loop, in program order."""
    loop = body(text)[body(text).index("for (int k = 0") :]
    inside = itertools.takewhile(lambda line: line != "  }", loop.splitlines())
    return [
        int(line.split("cp_async_wait<")[1].split(">")[0])
        for line in inside
        if "cp_async_wait<" in line
    ]


@pytest.mark.parametrize(("rows", "columns", "stages"), dealt(TILES, hands=3))
def test_the_copies_of_later_turns_stay_in_flight(
    rows: int, columns: int, stages: int, slowed: Callable[..., None]
) -> None:
    slowed()
    kernel = gemv(rows, columns, stages)
    a, x = operands(kernel)
    text, got = compiled(kernel, a, x)
    assert set(loop_waits(text)) == {2 * stages - 1}
    np.testing.assert_array_equal(got, product(a, x))


@pytest.mark.parametrize(("rows", "columns", "stages"), dealt(TILES, hands=3))
def test_one_more_in_flight_is_one_too_many(
    rows: int, columns: int, stages: int, slowed: Callable[..., None]
) -> None:
    slowed(more=1)
    kernel = gemv(rows, columns, stages)
    a, x = operands(kernel)
    result = simt.execute(kernel, a, x, target="sm_80")
    assert not result.report.ok or not np.array_equal(result.outputs[0], product(a, x))


@pytest.mark.parametrize("stages", [2, 3])
def test_guards_bound_what_is_copied_and_read(stages: int, slowed: Callable[..., None]) -> None:
    """Bytes of the next stage would be counted in without them."""
    kernel = guarded_gemv(8, 96, stages)
    slowed()
    a, x = operands(kernel)
    text, got = compiled(kernel, a, x)
    assert min(loop_waits(text)) > 0
    np.testing.assert_array_equal(got, product(a, x))


@pytest.mark.parametrize(("stages", "turns"), dealt([2, 3], [2, 5], hands=2))
def test_a_branch_of_whole_blocks_is_run_through(
    stages: int, turns: int, slowed: Callable[..., None]
) -> None:
    slowed()
    kernel = gemv_of_one_block(8, 512, stages, turns)
    found = source(kernel, "sm_80").split("cp_async_wait<")[1:]
    assert max(int(part.split(">")[0]) for part in found) > 0
    a, x = operands(kernel)
    wanted = np.concatenate([3 * product(a, x), np.full(8, 7, np.float32)])
    np.testing.assert_array_equal(simt.run(kernel, a, x, target="sm_80"), wanted)


@pytest.mark.parametrize("stages", [2, 3])
def test_the_pipeline_of_a_branch_waits_for_its_last_copies(stages: int) -> None:
    """On 0.1.9 TileLang's own waits allow one tile too many after three stages."""
    kernel = gemv_of_one_block(8, 512, stages, turns=2)
    a, x = operands(kernel)
    wanted = np.concatenate([3 * product(a, x), np.full(8, 7, np.float32)])
    np.testing.assert_array_equal(simt.run(kernel, a, x, target="sm_80"), wanted)


def test_a_kernel_that_stores_to_what_it_copies_keeps_its_waits(
    slowed: Callable[..., None],
) -> None:
    slowed()
    assert set(loop_waits(source(in_place()))) <= {0}
