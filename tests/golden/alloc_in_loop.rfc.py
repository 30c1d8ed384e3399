import tilelang.language as T


def build(rows, n):
    """A fresh epoch every iteration, allocation included."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=64):
            for r in T.serial(rows):
                acc = T.alloc_reducer((1,), "float32")
                acc_result = T.alloc_fragment((1,), "float32")
                for j in T.Parallel(n):
                    T.reducer_update(acc, 0, X[r, j])
                T.finalize_reducer(acc, acc_result)
                out[r] = acc_result[0]

    return main
