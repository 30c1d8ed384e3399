"""Many outputs at once over the lanes of a warp: any number of them, any op, dtype and target."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt
from reducer_compat.adapter import adapter
from reducer_compat.passes.halving import padded
from tests.compat.lowering import body, source
from tests.compat.share import dealt


def columns(rows: int, outputs: int, threads: int, op: str, dtype: str) -> Any:
    """Column sums whose index is computed, so that every thread has a partial of every column."""

    @T.prim_func
    def main(X: T.Tensor((rows, outputs), dtype), y: T.Tensor((outputs,), dtype)):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((outputs,), dtype, op=op)
            T.reducer_init(acc)
            for i, j in T.Parallel(rows, outputs):
                T.reducer_update(acc[(i + j) % outputs], X[i, (i + j) % outputs])
            T.finalize_reducer(acc, y)

    return main


NUMPY = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
    "bitand": np.bitwise_and,
    "bitxor": np.bitwise_xor,
}


def inputs(rows: int, outputs: int, op: str, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(rows * outputs)
    low, high = (1, 3) if op == "prod" else (0, 8)
    values = rng.integers(low, high, (rows, outputs))
    if op == "prod":
        values[rng.random(values.shape) < 0.9] = 1
    return values.astype(dtype)


@pytest.mark.parametrize(("threads", "outputs"), dealt((32, 96, 128), (2, 3, 5, 7, 8, 12, 33, 48)))
def test_any_number_of_outputs(outputs: int, threads: int) -> None:
    x = inputs(40, outputs, "sum", "float32")
    got = simt.run(columns(40, outputs, threads, "sum", "float32"), x, out_idx=-1)
    np.testing.assert_array_equal(got, x.sum(0))


@pytest.mark.parametrize("threads", [48, 160, 1024])
def test_any_number_of_threads(threads: int) -> None:
    x = inputs(40, 6, "max", "float32")
    got = simt.run(columns(40, 6, threads, "max", "float32"), x, out_idx=-1)
    np.testing.assert_array_equal(got, x.max(0))


@pytest.mark.parametrize(
    ("op", "dtype"),
    dealt(
        [
            ("sum", "float16"),
            ("max", "float16"),
            ("sum", "float64"),
            ("min", "int64"),
            ("bitxor", "uint32"),
            ("bitand", "int32"),
            ("prod", "float32"),
            ("sum", "int8"),
        ],
        hands=3,
    ),
)
def test_any_op_and_dtype(op: str, dtype: str) -> None:
    x = inputs(16, 6, op, dtype)
    got = simt.run(columns(16, 6, 64, op, dtype), x, out_idx=-1)
    np.testing.assert_array_equal(got, NUMPY[op].reduce(x, axis=0, dtype=dtype))


@pytest.mark.skipif(str(adapter().release) in ("0.1.8", "0.1.9"), reason="generates no HIP")
@pytest.mark.parametrize("outputs", [3, 8, 33])
def test_wavefronts_of_hip(outputs: int) -> None:
    x = inputs(40, outputs, "sum", "float16")
    kernel = columns(40, outputs, 128, "sum", "float16")
    got = simt.run(kernel, x, out_idx=-1, target="gfx942")
    np.testing.assert_array_equal(got, x.sum(0))
    assert "shfl_xor_sync" not in body(source(kernel, "gfx942", "hip"))


def shuffles(text: str) -> int:
    """The shuffles that one lane takes part in, loops counted."""
    found, times = 0, 1
    for line in body(text).splitlines():
        loop = re.search(r"for \(int u_?\d* = 0; u_?\d* < (\d+);", line)
        for _, width, scale in re.findall(r"AllReduce<(\S+), (\d+), (\d+), 0>", line):
            found += times * (int(width) // int(scale)).bit_length() - times
        found += times * line.count("shfl_xor_sync")
        times = int(loop[1]) if loop else 1
    return found


@pytest.mark.parametrize(("outputs", "most"), [(16, 16), (32, 31), (64, 62), (7, 9), (2, 5)])
def test_outputs_share_their_shuffles(outputs: int, most: int) -> None:
    """Butterflies would take five for each output."""
    text = source(columns(40, outputs, 128, "sum", "float32"))
    assert 0 < shuffles(text) <= most


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_partials_of_16_bits_stay_in_registers(dtype: str) -> None:
    """Of two elements of a class `?:` makes a reference: its array would go to local memory."""
    text = body(source(columns(64, 16, 128, "sum", dtype)))
    assert "shfl_xor_sync" in text
    assert not re.search(r"\? acc_partial\[", text)
    assert not re.search(r": acc_partial\[", text)


def test_partials_are_added_only_where_they_pay() -> None:
    assert [padded(slots, 32) for slots in (1, 2, 3, 5, 7, 8, 12)] == [1, 2, 4, 8, 8, 8, 12]
    assert padded(33, 32) < 64
    assert padded(7, 1) == 7


def test_the_result_of_a_global_destination_is_written_once() -> None:
    """What other warps handed over is combined on the way, not in memory."""

    main = columns(64, 8, 128, "sum", "float32")
    stores = [line for line in body(source(main)).splitlines() if re.match(r"\s*y\[", line)]
    assert len(stores) == 1
    assert stores[0].count("y[") == 1
