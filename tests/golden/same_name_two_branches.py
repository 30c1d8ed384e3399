import tilelang.language as T


def build(n, wide):
    """The same name allocated in both branches: two reducers, one story each."""

    @T.prim_func
    def main(X: T.Tensor((n, n), "float32"), out: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=128):
            if wide:
                acc = T.alloc_reducer((n,), "float32", op="sum", replication="all")
            else:
                acc = T.alloc_reducer((n,), "float32", op="sum", replication="none")
            T.clear(acc)
            for i, j in T.Parallel(n, n):
                acc[i] += X[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, out)

    return main
