import tilelang.language as T


def build(n, rows):
    """A second name for a finalized reducer is a name of its result."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            for row in T.serial(rows):
                T.reducer_init(acc)
                for i in T.Parallel(n):
                    T.reducer_update(acc[0], X[row, i])
                T.finalize_reducer(acc, acc_result)
                total = acc_result
                total[0] = total[0] / n
                T.copy(total, out[row])

    return main
