"""The files that `verify` is run on, and what a run comes to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

SUM_OF_EIGHT = """\
import tilelang.language as T


@T.prim_func
def total(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
        T.clear(acc)
        for i in T.Parallel(8):
            acc[0] += A[i]
        T.finalize_reducer(acc)
        T.copy(acc, B)
"""
#: Sums the rows of X; what surrounds it comes before the first line of the body.
_BODY = """\
        acc = T.alloc_reducer((1,), "float32", replication="all")
        T.clear(acc)
        for j in T.Parallel({columns}):
            acc[0] += X[row, j]
        T.finalize_reducer(acc)
        out[row] = acc[0]
"""


def _inside(columns: str, indent: str = "") -> str:
    return "".join(f"{indent}{line}\n" for line in _BODY.format(columns=columns).splitlines())


#: One kernel for each way in which a file defines one.
EVERY_FORM = f"""\
import tilelang
import tilelang.language as T

columns = 32


@T.prim_func
def plain(X: T.Tensor((4, 32), "float32"), out: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32) as row:
{_inside("32")}

def factory(rows, columns, dtype="float32"):
    @T.prim_func
    def main(X: T.Tensor((rows, columns), dtype), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("columns", "    ")}
    return main


@tilelang.jit(out_idx=[-1])
def lazy(rows, columns=64):
    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("columns", "    ")}
    return main


@tilelang.jit
def eager(X, threads=32):
    rows, columns = T.const("rows, columns")
    X: T.Tensor((rows, columns), "float32")
    out = T.empty((rows,), "float32")
    with T.Kernel(rows, threads=threads) as row:
{_inside("columns")}
    return out


def compiled(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}
    return tilelang.compile(main, out_idx=[-1])


def dynamic():
    n = T.dynamic("n")

    @T.prim_func
    def main(X: T.Tensor((n, 32), "float32"), out: T.Tensor((n,), "float32")):
        with T.Kernel(n, threads=32) as row:
{_inside("32", "    ")}
    return main


def test_that_launches(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}
    kernel = tilelang.compile(main, out_idx=[-1])
    assert kernel(None).sum() == 1


class Kernels:
    def method(self, rows):
        @T.prim_func
        def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
            with T.Kernel(rows, threads=32) as row:
{_inside("32", "        ")}
        return main


if __name__ == "__main__":
    kernel = eager.compile(rows=4, columns=columns * 2)
    raise SystemExit("not executed")
"""
#: One kernel for each way in which one cannot be run, and one that can.
TROUBLED = f"""\
import os
import time

import tilelang.language as T


def needs(rows, columns):
    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("columns", "    ")}
    return main


def misfit(rows=0):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((4 // rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}
    return main


def outside(rows=8):
    @T.prim_func
    def main(X: T.Tensor((4, 32), "float32"), out: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=32) as row:
            rows_of_block = T.alloc_shared((2,), "float32")
            T.copy(X[row, 0:2], rows_of_block)
            if T.get_thread_binding() == 0:
                rows_of_block[rows] = 1.0
{_inside("32", "    ")}
    return main


def unsupported(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
            T.call_extern("handle", "my_device_function", X[0, 0])
{_inside("32", "    ")}
    return main


def gives_nothing(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}

def ends(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}
    raise SystemExit("the end")


def dies(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}
    os._exit(7)


def hangs(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}
    time.sleep(3600)


def refused(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ").replace("acc[0] +=", "acc[0] *=")}
    return main


def right(rows=4):
    @T.prim_func
    def main(X: T.Tensor((rows, 32), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=32) as row:
{_inside("32", "    ")}
    return main
"""


@dataclass(frozen=True)
class Done:
    """What one run came to."""

    code: int
    out: str
    err: str

    @property
    def kernels(self) -> dict[str, Any]:
        """The rows of a JSON report, by the kernel's name."""
        return {row["kernel"]: row for row in json.loads(self.out)["kernels"]}
