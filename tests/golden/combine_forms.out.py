import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2, 2), "float32")):
        with T.Kernel(1, threads=64):
            hi = T.alloc_reducer((2,), "float32", op="max")
            hi_result = T.alloc_fragment((2,), "float32")
            lo = T.alloc_reducer((2,), "float32", op="min")
            lo_result = T.alloc_fragment((2,), "float32")
            T.reducer_init(hi)
            T.reducer_init(lo)
            for j in T.Parallel(n):
                T.reducer_update(hi[0], X[j])
                T.reducer_update(hi[1], T.abs(X[j]))
                T.reducer_update(lo[0], X[j])
                T.reducer_update(lo[1], X[j] * X[j])
            T.finalize_reducer(hi, hi_result)
            T.finalize_reducer(lo, lo_result)
            for i in T.Parallel(2):
                out[0, i] = hi_result[i]
                out[1, i] = lo_result[i]

    return main
