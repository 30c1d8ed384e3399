import tilelang.language as T


def build(n):
    """Python's own min and max: TileLang 0.1.15 cannot even trace them, T.reducer_update can."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            lo = T.alloc_reducer((1,), "float32", op="min", replication="all")
            hi = T.alloc_reducer((1,), "float32", op="max", replication="all")
            T.fill(lo, T.infinity("float32"))
            T.fill(hi, 0.5)
            for j in T.Parallel(n):
                lo[0] = min(lo[0], X[j])
                hi[0] = max(X[j] * 2, hi[0])
            T.finalize_reducer(lo)
            T.finalize_reducer(hi)
            out[0] = lo[0]
            out[1] = hi[0]

    return main
