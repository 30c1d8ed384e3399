import tilelang.language as T


def build(n, how):
    """Sites up to three ifs deep, in both branches, and an elif chain on a Python string."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            best = T.alloc_reducer((1,), "float32", how if how in ("sum", "max") else "min", replication="all")
            T.clear(acc)
            T.clear(best)
            for j in T.Parallel(n):
                if X[j] > 0:
                    if j % 2 == 0:
                        if j < n // 2:
                            acc[0] += X[j]
                    else:
                        acc[0] += X[j] * 2
                else:
                    acc[0] += -X[j]
                if how == "sum":
                    best[0] += X[j]
                elif how == "max":
                    best[0] = T.max(best[0], X[j])
                else:
                    best[0] = T.min(best[0], X[j])
            T.finalize_reducer(acc)
            T.finalize_reducer(best)
            out[0] = acc[0]
            out[1] = best[0]

    return main
