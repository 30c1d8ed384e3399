import tilelang.language as T


def build(n):
    """A plain store to the result is ordinary; so is a later read of what it stored."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for j in T.Parallel(n):
                T.reducer_update(acc[0], X[j])
            T.finalize_reducer(acc, acc_result)
            for i in T.Parallel(1):
                acc_result[i] = T.sqrt(acc_result[i] / n)
            T.copy(acc_result, out)

    return main
