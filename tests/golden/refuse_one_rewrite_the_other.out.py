import tilelang.language as T


def build(n):
    """All or nothing is per reducer."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            good = T.alloc_reducer((1,), "float32")
            good_result = T.alloc_fragment((1,), "float32")
            bad = T.alloc_reducer((1,), "float32", replication="all")
            T.reducer_init(good)
            T.fill(bad, 2)
            for j in T.Parallel(n):
                T.reducer_update(good[0], X[j])
                bad[0] += X[j]
            T.finalize_reducer(good, good_result)
            T.finalize_reducer(bad)
            out[0] = good_result[0]
            out[1] = bad[0] + good_result[0]

    return main
