"""Nothing but members of the language: v2 needs some that are not imported."""

import functools
from tilelang.language import (  # by name
    Kernel, Parallel, Tensor, alloc_reducer, fill, finalize_reducer, infinity, max as larger,
    prim_func)
import tilelang.language as T


def build(n):
    @prim_func
    def main(X: Tensor((n,), "float32"), out: Tensor((1,), "float32")):
        with Kernel(1, threads=64):
            top = alloc_reducer((1,), "float32", "max")
            top_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(top)
            for j in Parallel(n):
                T.reducer_update(top[0], X[j])
            finalize_reducer(top, top_result)
            out[0] = top_result[0]

    return main
