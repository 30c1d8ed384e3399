"""`tl::AllReduce`: which threads take part, and what the device compiler refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from packaging.version import Version

from reducer_compat import simt

from . import kernels as k

RNG = np.random.default_rng(11)


def whole(threads: int) -> Any:
    return RNG.integers(-50, 50, threads).astype("float32")


@pytest.mark.parametrize(
    ("threads", "width"), [(128, 128), (128, 64), (256, 256), (64, 8), (64, 1)]
)
def test_neighbours_reduce_in_groups_of_the_width(threads: int, width: int) -> None:
    a = whole(threads)
    got = simt.run(k.all_reduce(f"tl::SumOp, {width}, 1, 0", threads), a)
    np.testing.assert_array_equal(got, np.repeat(a.reshape(-1, width).sum(1), width))


@pytest.mark.parametrize(("width", "scale"), [(128, 16), (128, 64), (32, 4)])
def test_the_scale_is_the_distance_of_participants(width: int, scale: int) -> None:
    a = whole(128)
    got = simt.run(k.all_reduce(f"tl::SumOp, {width}, {scale}, 0", 128), a)
    groups = a.reshape(-1, width // scale, scale)
    want = np.broadcast_to(groups.sum(1, keepdims=True), groups.shape).reshape(-1)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("functor", "combine"), [("tl::MaxOp", np.max), ("tl::MinOp", np.min), ("tl::SumOp", np.sum)]
)
def test_functors(functor: str, combine: Any) -> None:
    a = whole(128)
    got = simt.run(k.all_reduce(f"{functor}, 128, 1, 0", 128), a)
    assert got.tolist() == [combine(a)] * 128


@pytest.mark.parametrize("functor", ["And", "Or", "Xor"])
def test_bit_functors(functor: str) -> None:
    a = RNG.integers(0, 1 << 20, 128).astype("int32")
    got = simt.run(k.all_reduce(f"tl::Bit{functor}Op, 128, 1, 0", 128, "int32"), a)
    assert got.tolist() == [getattr(np, f"bitwise_{functor.lower()}").reduce(a)] * 128


def test_halves_round_at_every_level() -> None:
    a = RNG.standard_normal(32).astype("float16")
    want = a
    for distance in (16, 8, 4, 2, 1):
        want = want + want[np.arange(32) ^ distance]
    got = simt.run(k.all_reduce("tl::SumOp, 32, 1, 0", 32, "float16"), a)
    np.testing.assert_array_equal(got, want)


def test_a_named_barrier_of_all_threads() -> None:
    a = whole(128)
    got = simt.run(k.all_reduce("tl::SumOp, 128, 1, 0, tl::NamedBarrier<128>", 128), a)
    assert got.tolist() == [a.sum()] * 128


def test_a_named_barrier_that_waits_for_too_many_never_opens() -> None:
    kernel = k.all_reduce("tl::SumOp, 128, 1, 0, tl::NamedBarrier<256>", 128)
    fault = simt.execute(kernel, whole(128)).report.of("divergent-barrier")[0]
    assert fault.message == "128 threads reach barrier 1, which waits for 256"


def test_a_group_that_needs_absent_threads() -> None:
    kernel = k.all_reduce("tl::SumOp, 32, 1, 0", 48)
    fault = simt.execute(kernel, whole(48)).report.of("inactive-lane")[0]
    assert fault.thread == (32, 0, 0)
    assert fault.message == "thread 32 shuffles with thread 48, which is not here"


def test_a_width_that_is_no_power_of_two() -> None:
    kernel = k.all_reduce("tl::SumOp, 96, 1, 0", 96)
    if Version("0.1.13") <= k.RELEASE:
        with pytest.raises(simt.SimtError, match="96 threads at stride 1 are no power of two"):
            simt.execute(kernel, whole(96))
        return
    (fault,) = simt.execute(kernel, whole(96)).report.faults
    assert (fault.kind, fault.thread) == ("out-of-bounds", (64, 0, 0))


def test_a_width_that_no_release_compiles() -> None:
    with pytest.raises(simt.SimtError, match="does not compile"):
        simt.execute(k.all_reduce("tl::SumOp, 48, 32, 0", 128), whole(128))
