"""How many blocks a kernel asks a multiprocessor to run at once."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T

from reducer_compat.adapter import adapter
from tests.compat.lowering import source

HAS_ATTRIBUTE = hasattr(T, "annotate_min_blocks_per_sm")
needs_attribute = pytest.mark.skipif(
    not HAS_ATTRIBUTE, reason="this TileLang cannot say how many blocks are to run at once"
)


def statistics(n: int, threads: int = 256, blocks: int = 0, shared: int = 0) -> Any:
    """Row maxima and sums of exponentials, `4 * n // threads` halves in each thread."""

    @T.prim_func
    def main(X: T.Tensor((64, n), "float16"), total: T.Tensor((64,), "float32")):
        with T.Kernel(16, threads=threads) as bx:
            if blocks:
                T.annotate_min_blocks_per_sm(blocks)
            row = T.alloc_fragment((4, n), "float16")
            top = T.alloc_reducer((4,), "float32", op="max")
            top_result = T.alloc_fragment((4,), "float32")
            mass = T.alloc_reducer((4,), "float32", op="sum")
            mass_result = T.alloc_fragment((4,), "float32")
            if shared:
                large = T.alloc_shared((4, n), "float16")
                wide = T.alloc_shared((shared,), "float32")
                T.copy(X[bx * 4, 0], large)
                T.copy(large, row)
                T.clear(wide)
            else:
                T.copy(X[bx * 4, 0], row)
            T.reducer_init(top)
            T.reducer_init(mass)
            for i, j in T.Parallel(4, n):
                T.reducer_update(top[i], row[i, j].astype("float32"))
            T.finalize_reducer(top, top_result)
            for i, j in T.Parallel(4, n):
                T.reducer_update(mass[i], T.exp(row[i, j].astype("float32") - top_result[i]))
            T.finalize_reducer(mass, mass_result)
            if shared:
                for i in T.Parallel(4):
                    mass_result[i] = mass_result[i] + wide[i]
            T.copy(mass_result, total[bx * 4])

    return main


def asked(text: str) -> int:
    """The blocks that a kernel asks for."""
    found = re.search(r"__launch_bounds__\(\d+, (\d+)\)", text)
    assert found is not None
    return int(found[1])


@needs_attribute
def test_arrays_that_leave_room_ask_for_blocks() -> None:
    """64 halves and 17 floats a thread: 49 registers, and 32 beside them."""
    assert asked(source(statistics(4096))) == 3


@needs_attribute
def test_large_arrays_leave_no_room() -> None:
    """256 halves a thread are 128 registers: two blocks of 256 threads would not fit."""
    assert asked(source(statistics(16384))) == 1


@needs_attribute
def test_small_arrays_ask_for_nothing() -> None:
    assert asked(source(statistics(1024))) == 1


@needs_attribute
def test_the_word_of_the_author_stands() -> None:
    assert asked(source(statistics(4096, blocks=2))) == 2


@needs_attribute
def test_shared_memory_may_leave_no_room() -> None:
    """No registers are held back for a second block that shared memory has no place for."""
    assert asked(source(statistics(4096, shared=16384))) == 1


def product() -> Any:
    """A matrix product, whose rows are summed."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 128), "float16"),
        B: T.Tensor((128, 128), "float16"),
        y: T.Tensor((128,), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            A_s = T.alloc_shared((128, 64), "float16")
            B_s = T.alloc_shared((64, 128), "float16")
            C = T.alloc_fragment((128, 128), "float32")
            acc = T.alloc_reducer((128,), "float32", op="sum")
            acc_result = T.alloc_fragment((128,), "float32")
            T.clear(C)
            for k in T.serial(2):
                T.copy(A[0, k * 64], A_s)
                T.copy(B[k * 64, 0], B_s)
                T.gemm(A_s, B_s, C)
            T.reducer_init(acc)
            for i, j in T.Parallel(128, 128):
                T.reducer_update(acc[i], C[i, j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y)

    return main


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_other_kernels_are_left_alone(kind: str) -> None:
    """Matrix instructions use arrays in ways of their own, and HIP has other registers."""
    if kind == "cuda":
        assert asked(source(product())) == 1
    elif str(adapter().release) not in ("0.1.8", "0.1.9"):
        assert "__launch_bounds__(256)" in source(statistics(4096), "gfx942", "hip")


@needs_attribute
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_the_registers_are_bounded_and_nothing_spills(tmp_path: Path) -> None:
    """167 registers before; 80 let three blocks of 256 threads run."""
    file = tmp_path / "kernel.cu"
    file.write_text(source(statistics(4096), "sm_90"))
    root = Path(str(tilelang.__file__)).parent
    includes = [f"-I{root / 'src'}", f"-I{root / '3rdparty' / 'cutlass' / 'include'}"]
    command = ["nvcc", "-arch=sm_90a", "-std=c++17", "--resource-usage", "-cubin", *includes]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "kernel.cubin"), str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    registers = re.search(r"Used (\d+) registers", done.stderr + done.stdout)
    assert registers is not None
    assert int(registers[1]) <= 80
    assert "0 bytes spill stores" in done.stderr + done.stdout
