import tilelang.language as T


def build(n, inner):
    """A serial loop inside the parallel body, nested one-axis loops, a parenthesized target."""

    @T.prim_func
    def main(X: T.Tensor((n, inner), "float32"), out: T.Tensor((3,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((3,), "float32")
            acc_result = T.alloc_fragment((3,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(n):
                for k in T.serial(inner):
                    T.reducer_update(acc[0], X[i, k])
            for i in T.Parallel(n):
                for j in T.Parallel(inner):
                    T.reducer_update(acc[1], X[i, j])
            for (i, j) in T.Parallel(n, inner):
                T.reducer_update(acc[2], X[i, j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, out)

    return main
