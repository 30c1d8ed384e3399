"""Arguments, outputs and what the interpreter refuses."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt

from . import kernels as k

A = np.arange(64, dtype="float32")


def test_numbers_and_two_outputs() -> None:
    b, c = simt.run(k.scaled(), A, 2.5, 10, out_idx=[-2, -1])
    np.testing.assert_array_equal(b, A * np.float32(2.5))
    np.testing.assert_array_equal(c, np.where(A < 10, A, 0))


def test_outputs_that_are_passed_change_in_place() -> None:
    a = A.copy()
    assert simt.run(k.in_place(), a, out_idx=None) is None
    np.testing.assert_array_equal(a, A + 1)


def test_arrays_that_are_not_contiguous() -> None:
    wide = np.repeat(A, 2)
    np.testing.assert_array_equal(simt.run(k.doubled(64), wide[::2]), 2 * A)
    view = wide[::2]
    simt.run(k.in_place(), view, out_idx=None)
    np.testing.assert_array_equal(wide[::2], A + 1)
    np.testing.assert_array_equal(wide[1::2], A)


def test_tensors_that_share_their_memory_with_numpy_change_in_place() -> None:
    torch = pytest.importorskip("torch", reason="this test passes a torch tensor")
    a = torch.arange(64, dtype=torch.float32)
    simt.run(k.in_place(), a, out_idx=None)
    assert a.tolist() == (A + 1).tolist()


def test_without_tilelang_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = k.doubled(64)
    monkeypatch.setitem(sys.modules, "tilelang", None)
    with pytest.raises(simt.SimtError, match=r"needs tilelang \(pip install tilelang\)"):
        simt.run(kernel, A)


def test_a_lowered_kernel_runs_on_many_inputs() -> None:
    lowered = simt.lower(k.doubled(64))
    for a in (A, -A):
        np.testing.assert_array_equal(simt.execute_lowered(lowered, a).outputs[0], 2 * a)


BAD: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("dtype", (A.astype("float16"),), {}, "argument A has dtype float16, and the kernel declares"),
    ("shape", (A[:32],), {}, r"argument A has shape \(32,\), and the kernel declares \(64\)"),
    ("rank", (A.reshape(8, 8),), {}, r"argument A has shape \(8, 8\)"),
    ("count", (A, A), {}, "takes 1 arguments besides its outputs, and got 2"),
    ("out_idx", (A,), {"out_idx": 7}, "out_idx 7 is not one of the kernel's 2 parameters"),
]


@pytest.mark.parametrize(("name", "arrays", "how", "message"), BAD, ids=[b[0] for b in BAD])
def test_arguments_that_do_not_fit(
    name: str, arrays: Any, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(simt.SimtError, match=message):
        simt.run(k.doubled(64), *arrays, **how)


def test_symbolic_sizes_must_agree() -> None:
    n = T.dynamic("n") if hasattr(T, "dynamic") else T.symbolic("n")
    with pytest.raises(simt.SimtError, match=r"argument C has shape \(32,\), and the kernel"):
        simt.run(k.elementwise(lambda a, c: a + c, "float32", n), A, A[:32])


def test_what_is_no_kernel() -> None:
    with pytest.raises(simt.SimtError, match=r"takes a PrimFunc, as tilelang\.compile does"):
        simt.run(lambda a: a, A)


def test_an_unknown_function_is_named_with_its_statement() -> None:
    kernel = k.per_thread(lambda x: T.call_extern("float32", "my_function<3>", x))
    with pytest.raises(simt.UnsupportedError) as caught:
        simt.run(kernel, A)
    assert caught.value.what == "the function my_function<3>"
    assert 'T.call_extern("float32", "my_function<3>", A[tx])' in str(caught.value)


def test_an_unknown_op_is_named_with_its_statement() -> None:
    with pytest.raises(simt.UnsupportedError, match=r"does not know the (op|function) ") as caught:
        simt.run(k.product("float16", False), np.ones((64, 64), "float16"), target="sm_90")
    name = caught.value.what.split(" ")[2].split(".")[-1]
    assert "gemm" in name or "wgmma" in name or "warpgroup" in name
    assert name in str(caught.value.where)


def test_an_unknown_reducer_functor_is_named() -> None:
    with pytest.raises(simt.UnsupportedError, match="tl::AllReduce<tl::ProdOp, 32, 1, 0>::run"):
        simt.run(k.all_reduce("tl::ProdOp, 32, 1, 0", 64), A)


def test_a_partial_shuffle_mask_is_refused() -> None:
    kernel = k.per_thread(lambda x: T.call_extern("float32", "__shfl_sync", 0xFF, x, 3))
    with pytest.raises(simt.UnsupportedError, match="lane mask 0xff"):
        simt.run(kernel, A)
