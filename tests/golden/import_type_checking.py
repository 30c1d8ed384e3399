from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_like.platforms import has_tilelang

if TYPE_CHECKING or has_tilelang():
    import tilelang
    import tilelang.language as T
else:
    tilelang = None
    T = None


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            total = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(total)
            for j in T.Parallel(n):
                total[0] += X[j]
            T.finalize_reducer(total)
            out[0] = total[0]

    return main
