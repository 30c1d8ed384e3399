import tilelang.language as T


def build(steps, n):
    """Closed in the last iteration of the loop that updates: uniform, left in place."""

    @T.prim_func
    def main(X: T.Tensor((steps, n), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for k in T.serial(steps):
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[k, j])
                if k == steps - 1:
                    T.finalize_reducer(acc, acc_result)
                    out[0] = acc_result[0]

    return main
