def gemv_alloc_reducer(T, n, k):
    """No import at all: the language is a parameter, and the name misleads text tools."""

    @T.prim_func
    def main(A: T.Tensor((n, k), "float16"), out: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((n,), "float32", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(n, k):
                acc[i] += A[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, out)

    return main
