"""HIP: wavefronts of 64 lanes on CDNA and 32 on RDNA, and `tl::AllReduce` as its templates say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang.language as T
from packaging.version import Version

from reducer_compat import simt
from reducer_compat.simt.lowering import device_of, installed, lower, resolve_target

from . import kernels as k

pytestmark = pytest.mark.skipif(
    Version("0.1.10") > k.RELEASE, reason="the wheels of 0.1.8 and 0.1.9 generate no HIP"
)
RNG = np.random.default_rng(5)


def whole(threads: int) -> Any:
    return RNG.integers(-50, 50, threads).astype("float32")


@pytest.mark.parametrize(("arch", "warp"), [("gfx942", 64), ("gfx90a", 64), ("gfx1100", 32)])
def test_the_wavefront_comes_from_the_architecture(arch: str, warp: int) -> None:
    _, tvm, tir = installed()
    device = device_of(resolve_target(tvm, tir, arch))
    assert (device.warp, device.hip) == (warp, True)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    ("threads", "width", "scale"),
    [(128, 2, 1), (128, 32, 1), (128, 64, 1), (128, 128, 1), (256, 256, 1), (128, 64, 16)],
)
def test_neighbours_reduce_in_groups_of_the_width(
    arch: str, threads: int, width: int, scale: int
) -> None:
    a = whole(threads)
    kernel = k.all_reduce(f"tl::SumOp, {width}, {scale}, 0", threads)
    got = simt.run(kernel, a, target=arch)
    groups = a.reshape(-1, width // scale, scale)
    want = np.broadcast_to(groups.sum(1, keepdims=True), groups.shape).reshape(-1)
    np.testing.assert_array_equal(got, want)


def half_waves(threads: int) -> Any:
    """Sums over 64 lanes with no workspace, which only a wavefront of 64 can do."""
    name = "tl::AllReduce<tl::SumOp, 64, 1, 0>::run"

    @T.prim_func
    def main(A: T.Tensor((threads,), "float32"), B: T.Tensor((threads,), "float32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding(0)
            B[tx] = T.call_extern("float32", name, A[tx])

    return main


def test_64_lanes_shuffle_on_cdna_alone() -> None:
    a = whole(128)
    got = simt.run(half_waves(128), a, target="gfx942")
    np.testing.assert_array_equal(got, np.repeat(a.reshape(2, 64).sum(1), 64))
    for other in ("gfx1100", "sm_75"):
        with pytest.raises(simt.SimtError, match="over 64 threads has no workspace"):
            simt.run(half_waves(128), a, target=other)


def test_a_wavefront_that_is_half_there() -> None:
    fault = simt.execute(half_waves(96), whole(96), target="gfx942").report.of("inactive-lane")[0]
    assert fault.thread == (64, 0, 0)


@pytest.mark.parametrize("width", [96, 24])
def test_a_width_that_is_no_power_of_two_does_not_compile(width: int) -> None:
    kernel = k.all_reduce(f"tl::SumOp, {width}, 1, 0", 96)
    with pytest.raises(simt.SimtError, match="does not compile"):
        simt.run(kernel, whole(96), target="gfx942")


def reduction(columns: int, threads: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, columns), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=threads):
            rows = T.alloc_fragment((4, columns), "float32")
            sums = T.alloc_fragment((4,), "float32")
            T.copy(A, rows)
            T.reduce_sum(rows, sums, dim=1)
            T.copy(sums, B)

    return main


@pytest.mark.parametrize(("columns", "threads"), [(32, 128), (256, 128), (512, 256)])
def test_reductions_of_tilelang(columns: int, threads: int) -> None:
    """By shuffles, over the whole wavefront, and through a workspace."""
    a = RNG.integers(-5, 5, (4, columns)).astype("float32")
    np.testing.assert_array_equal(
        simt.run(reduction(columns, threads), a, target="gfx942"), a.sum(1)
    )


def test_arguments_are_tensors_of_a_rocm_device() -> None:
    assert lower(half_waves(64), "gfx942").on.code == 10
    assert lower(k.sum8()).on.code == 2


def test_what_is_cuda_alone_is_named() -> None:
    a = whole(64)
    shuffled = k.per_thread(lambda x: T.call_extern("float32", "__shfl_sync", 0xFFFFFFFF, x, 3))
    with pytest.raises(simt.UnsupportedError, match="the function __shfl_sync on HIP"):
        simt.run(shuffled, a, target="gfx942")
