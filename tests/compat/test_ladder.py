"""A kernel that TileLang fails on, or loses a part of, is lowered in another way; status() says
which and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import tilelang
import tilelang.language as T

import reducer_compat
from reducer_compat import ReducerError, ladder, simt
from reducer_compat.adapter import adapter
from reducer_compat.ladder import Descent, Feature
from tests.compat.lowering import run, source, wanted
from tests.kernels import all_cases, divided

CASES = {case.name: case for case in all_cases()}
DIVIDED = divided.cases()
#: A pass of TileLang after the counts; up to 0.1.10 in the second half of its pipeline.
LATE = "VectorizeLoop"
EARLY = "LayoutInference"


@pytest.fixture
def canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


@contextmanager
def failing(name: str, fails: Callable[[], bool]) -> Iterator[list[int]]:
    """TileLang with a pass that fails while `fails`; what is yielded grows with its every run."""
    module, runs = tilelang.transform, []
    real = getattr(module, name)

    def make(*args: Any, **kwargs: Any) -> Any:
        runs.append(len(runs))
        if fails():
            raise RuntimeError(f"in {name}:\nCheck failed: the moon is full")
        return real(*args, **kwargs)

    setattr(module, name, make)
    try:
        yield runs
    finally:
        setattr(module, name, real)


def lowered_with(case: str, arch: str) -> tuple[Descent, ...]:
    """What a case is lowered without."""
    before = len(reducer_compat.status().descents)
    source(CASES[case].build(), arch)
    return reducer_compat.status().descents[before:]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No descents yet."""
    ladder._LATEST.clear()


@pytest.mark.usefixtures("canonical")
@pytest.mark.parametrize("case", DIVIDED, ids=lambda case: case.name)
def test_an_epoch_that_would_be_divided_is_right_on_hopper(case: Any) -> None:
    """On 0.1.8, too, whose barriers of pipelines the interpreter does not know."""
    np.testing.assert_array_equal(run(case, target="sm_90"), wanted(case))


@pytest.mark.usefixtures("canonical", "fresh")
def test_an_epoch_around_a_loop_around_a_pipeline_goes_without_warp_specialization() -> None:
    assert lowered_with("loop_around_a_pipeline", "sm_90") == (
        Descent(
            "kernel",
            Feature.SPECIALIZED,
            "the epoch of acc goes around a loop around a pipelined loop",
        ),
    )
    assert str(reducer_compat.status().descents[0]) == (
        "kernel: warp specialization given up: the epoch of acc goes around a loop around a "
        "pipelined loop"
    )
    assert lowered_with("loop_around_a_pipeline", "sm_80") == ()
    assert lowered_with("pipelined_epochs", "sm_90") == ()


@pytest.mark.skipif(str(adapter().release) != "0.1.8", reason="others wait by the right phase")
@pytest.mark.usefixtures("canonical", "fresh")
@pytest.mark.parametrize(
    ("case", "turns"), [("tile_before_a_pipeline_5_8", 5), ("tile_before_a_pipeline_3_64", 3)]
)
def test_copies_in_an_odd_loop_in_another_go_without_warp_specialization(
    case: str, turns: int
) -> None:
    why = f"a loop of {turns} turns inside another loop has copies"
    assert lowered_with(case, "sm_90") == (Descent("kernel", Feature.SPECIALIZED, why),)


@pytest.mark.usefixtures("canonical", "fresh")
def test_what_is_given_up_is_noted_with_the_count() -> None:
    source(CASES["loop_around_a_pipeline"].build(), "sm_90")
    verdict = reducer_compat.status().counts[-1]
    assert verdict.notes[0].startswith("warp specialization given up: the epoch of acc")


@pytest.mark.usefixtures("canonical", "fresh")
@pytest.mark.parametrize("name", [EARLY, LATE])
def test_what_fails_with_a_narrow_plan_is_planned_wide(name: str) -> None:
    case = CASES["row_sum_8x128_256_shared"]
    with failing(name, lambda: not ladder.gave_up(Feature.NARROW)) as runs:
        got = simt.run(case.build(), *case.arguments(), out_idx=-1)
    np.testing.assert_array_equal(got, case.reference(case.arguments()))
    assert len(runs) == 2
    [descent] = reducer_compat.status().descents
    assert descent == Descent(
        "from_shared", Feature.NARROW, "TileLang: Check failed: the moon is full"
    )


@pytest.mark.usefixtures("canonical", "fresh")
@pytest.mark.parametrize("name", [EARLY, LATE])
def test_features_are_given_up_one_after_another(name: str) -> None:
    case = CASES["gemv_16x128_128_2_shared"]
    with failing(name, lambda: not ladder.gave_up(Feature.PIPELINED)):
        got = run(case, target="sm_90")
    np.testing.assert_array_equal(got, wanted(case))
    # The plan is narrow again.
    assert [d.feature for d in reducer_compat.status().descents] == [
        Feature.SPECIALIZED,
        Feature.TMA,
        Feature.PIPELINED,
    ]


@pytest.mark.usefixtures("canonical", "fresh")
@pytest.mark.parametrize("name", [EARLY, LATE])
def test_what_fails_on_every_rung_says_so_once(name: str) -> None:
    with failing(name, lambda: True), pytest.raises(ReducerError) as caught:
        source(CASES["row_sum_8x128_256_shared"].build())
    assert caught.value.code == "RC003"
    assert "Check failed: the moon is full" in caught.value.message
    assert caught.value.kernel == "from_shared"
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert reducer_compat.status().descents == ()


def plain() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = A[i] * 2

    return kernel


@pytest.mark.parametrize("name", [EARLY, LATE])
def test_a_kernel_without_reducers_fails_as_it_did(name: str) -> None:
    with (
        failing(name, lambda: True) as runs,
        pytest.raises(RuntimeError, match="the moon is full") as caught,
    ):
        source(plain())
    assert not isinstance(caught.value, ReducerError)
    assert len(runs) == 1


@pytest.mark.usefixtures("canonical")
def test_a_misused_reducer_is_not_lowered_again() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(64):
                T.reducer_update(acc[0], A[i])

    with (
        failing("AddWrapperForSingleBufStore", lambda: False) as runs,
        pytest.raises(ReducerError, match="RM2"),
    ):
        source(kernel)
    assert len(runs) == 1


@pytest.mark.skipif(not adapter().native_v2, reason="TileLang has no v2 reducers")
@pytest.mark.usefixtures("fresh")
def test_a_kernel_that_tilelang_fails_on_with_its_own_reducers_gets_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "auto")

    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((16, 64), "float32")
            acc = T.alloc_reducer((16,), "float32")
            result = T.alloc_fragment((16,), "float32")
            T.copy(A, tile)
            T.reducer_init(acc)
            for i, j in T.Parallel(16, 64):
                T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    a = np.arange(1024, dtype=np.float32).reshape(16, 64)
    with failing("ReducerPlanAndMaterialize", lambda: not ladder.gave_up(Feature.NATIVE)) as runs:
        got = simt.run(kernel, a, out_idx=-1)
    np.testing.assert_array_equal(got, a.sum(1))
    assert len(runs) == 2
    assert [d.feature for d in reducer_compat.status().descents] == [Feature.NATIVE]
    assert reducer_compat.status().choices[-1].reason == "TileLang failed with its own"


def stored_row() -> Any:
    """A turn stores its result, which is in shared memory, to a row of a tensor."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 16, 64), "float16"), B: T.Tensor((4, 16), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((16, 64), "float16")
            acc = T.alloc_reducer((16,), "float32")
            result = T.alloc_shared((16,), "float32")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:16, 0:64], tile)
                T.reducer_init(acc)
                for i, j in T.Parallel(16, 64):
                    T.reducer_update(acc[i], T.cast(tile[i, j], "float32"))
                T.finalize_reducer(acc, result)
                T.copy(result, B[k, 0:16])

    return kernel


@pytest.mark.usefixtures("canonical")
def test_a_tensor_copy_on_which_tilelang_fails_is_made_by_threads() -> None:
    """From 0.1.10 to 0.1.12: 'Index -1 out of bounds', of such a store on sm_90."""
    A = np.random.default_rng(3).integers(-9, 9, (4, 16, 64)).astype("float16")
    done = simt.execute(stored_row(), A, target="sm_90", out_idx=[-1])
    assert done.report.ok, done.report
    np.testing.assert_array_equal(done.outputs[0], A.astype("float32").sum(2))
