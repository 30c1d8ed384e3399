"""Nothing but members of the language: v2 needs some that are not imported."""

import functools
from tilelang.language import (  # by name
    Kernel, Parallel, Tensor, alloc_reducer, fill, finalize_reducer, infinity, max as larger,
    prim_func)


def build(n):
    @prim_func
    def main(X: Tensor((n,), "float32"), out: Tensor((1,), "float32")):
        with Kernel(1, threads=64):
            top = alloc_reducer((1,), "float32", "max", replication="all")
            fill(top, -infinity("float32"))
            for j in Parallel(n):
                top[0] = larger(top[0], X[j])
            finalize_reducer(top)
            out[0] = top[0]

    return main
