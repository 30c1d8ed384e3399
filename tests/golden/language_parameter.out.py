def gemv_alloc_reducer(T, n, k):
    """No import at all: the language is a parameter, and the name misleads text tools."""

    @T.prim_func
    def main(A: T.Tensor((n, k), "float16"), out: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((n,), "float32")
            acc_result = T.alloc_fragment((n,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(n, k):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, out)

    return main
