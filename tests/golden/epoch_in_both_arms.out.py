import tilelang.language as T


def build(n, squared):
    """A whole epoch in either arm of a compile-time flag, on one allocation above both."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            if squared:
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[j] * X[j])
                T.finalize_reducer(acc, acc_result)
            else:
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[j])
                T.finalize_reducer(acc, acc_result)
            out[0] = acc_result[0]

    return main
