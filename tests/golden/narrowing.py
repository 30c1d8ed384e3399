import tilelang.language as T


def build(n):
    """float32 into float16: v2 rounds each contribution first, v1 rounded the sum."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float16")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float16", replication="all")
            T.clear(acc)
            for j in T.Parallel(n):
                acc[0] += X[j] * X[j]
            T.finalize_reducer(acc)
            out[0] = acc[0]

    return main
