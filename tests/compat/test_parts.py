"""Parts of buffers that a finalize cannot write to; those that it can are in tests/kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from reducer_compat import ReducerError
from tests.compat.lowering import source


def kernel_into(part: Callable[[Any, Any, Any], Any]) -> Any:
    """A reducer of 8 float32 outputs that is finalized into a part of one of three buffers."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((4, 8), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((8,), "float32")
            held = T.alloc_fragment((12,), "int32")
            own = T.alloc_local((16,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 64):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, part(B, held, own))

    return kernel


@pytest.mark.parametrize(
    ("part", "code", "says"),
    [
        (
            lambda b, f, p: b[1, 0:4],
            "RM216",
            r"has shape \(8\), and its destination is `B\[1, 0:4\]`",
        ),
        (lambda b, f, p: b[0:2, 0:8], "RM216", r"`B\[0:2, 0:8\]`, of shape \(4, 8\)"),
        (lambda b, f, p: b[1, 4], "RM216", r"`B\[1, 4\]`, of shape \(4, 8\)"),
        (lambda b, f, p: f[0:8], "RM216", "is float32, and its destination `held.*` is int32"),
        (lambda b, f, p: p[0:8], "RC004", "is a part of own, which is private to a thread"),
        (lambda b, f, p: "B", "RC004", "is a str, no buffer and no part of one"),
    ],
)
def test_a_part_that_does_not_fit_is_refused_where_it_is_written(
    part: Callable[[Any, Any, Any], Any], code: str, says: str
) -> None:
    with pytest.raises(ReducerError, match=says) as caught:
        kernel_into(part)
    assert caught.value.code == code
    assert caught.value.location.startswith(__file__)
    assert caught.value.fix


def test_a_part_of_a_reducer_is_refused_by_the_rule_for_reducers() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((8,), "float32")
            other = T.alloc_reducer((16,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 64):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, other[0:8])

    with pytest.raises(ReducerError, match="RM2"):
        source(kernel)
