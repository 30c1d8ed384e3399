import tilelang.language as T


def build(n):
    """Python's own min and max: TileLang 0.1.15 cannot even trace them, T.reducer_update can."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            lo = T.alloc_reducer((1,), "float32", op="min")
            lo_result = T.alloc_fragment((1,), "float32")
            hi = T.alloc_reducer((1,), "float32", op="max")
            hi_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(lo)
            T.reducer_init(hi, 0.5)
            for j in T.Parallel(n):
                T.reducer_update(lo[0], X[j])
                T.reducer_update(hi[0], X[j] * 2)
            T.finalize_reducer(lo, lo_result)
            T.finalize_reducer(hi, hi_result)
            out[0] = lo_result[0]
            out[1] = hi_result[0]

    return main
