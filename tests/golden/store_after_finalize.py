import tilelang.language as T


def build(n):
    """A plain store to the result is ordinary; so is a later read of what it stored."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for j in T.Parallel(n):
                acc[0] += X[j]
            T.finalize_reducer(acc)
            for i in T.Parallel(1):
                acc[i] = T.sqrt(acc[i] / n)
            T.copy(acc, out)

    return main
