"""The kernels that the command is run on, and what a run comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

V1 = """\
import tilelang.language as T


@T.prim_func
def total(A: T.Tensor((128,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
        T.clear(acc)
        for i in T.Parallel(128):
            acc[0] += A[i]
        T.finalize_reducer(acc)
        T.copy(acc, B)
"""
V2 = """\
import tilelang.language as T


@T.prim_func
def total(A: T.Tensor((128,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32", op="sum")
        acc_result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(128):
            T.reducer_update(acc[0], A[i])
        T.finalize_reducer(acc, acc_result)
        T.copy(acc_result, B)
"""
#: A reducer that cannot be rewritten: its store is no reduction update.
REFUSED = V1.replace("acc[0] += A[i]", "acc[0] *= A[i]")


@dataclass(frozen=True)
class Done:
    """What one run came to."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        """What was printed to stdout, as text."""
        return self.raw.decode()


Command = Callable[..., Done]
