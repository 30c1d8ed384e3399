import tilelang.language as T


def topk(rows, n, k):
    """The k smallest of each row, one epoch a round on one allocation."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows, k), "float32")):
        with T.Kernel(rows, threads=128) as row:
            value = T.alloc_fragment((n,), "float32")
            best = T.alloc_reducer((1,), "float32", op="min", replication="all")
            T.copy(X[row, 0:n], value)
            for r in T.serial(k):
                T.fill(best, T.infinity("float32"))
                for j in T.Parallel(n):
                    best[0] = T.min(best[0], value[j])
                T.finalize_reducer(best)
                out[row, r] = best[0]
                for j in T.Parallel(n):
                    if value[j] == best[0]:
                        value[j] = T.infinity("float32")

    return main
