import tilelang.language as T


def build(n, how):
    """Sites up to three ifs deep, in both branches, and an elif chain on a Python string."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            acc_result = T.alloc_fragment((1,), "float32")
            best = T.alloc_reducer((1,), "float32", how if how in ("sum", "max") else "min")
            best_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            T.reducer_init(best, 0)
            for j in T.Parallel(n):
                if X[j] > 0:
                    if j % 2 == 0:
                        if j < n // 2:
                            T.reducer_update(acc[0], X[j])
                    else:
                        T.reducer_update(acc[0], X[j] * 2)
                else:
                    T.reducer_update(acc[0], -X[j])
                if how == "sum":
                    T.reducer_update(best[0], X[j])
                elif how == "max":
                    T.reducer_update(best[0], X[j])
                else:
                    T.reducer_update(best[0], X[j])
            T.finalize_reducer(acc, acc_result)
            T.finalize_reducer(best, best_result)
            out[0] = acc_result[0]
            out[1] = best_result[0]

    return main
