import tilelang.language as T


def build(n, inner):
    """A serial loop inside the parallel body, nested one-axis loops, a parenthesized target."""

    @T.prim_func
    def main(X: T.Tensor((n, inner), "float32"), out: T.Tensor((3,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((3,), "float32", replication="all")
            T.clear(acc)
            for i in T.Parallel(n):
                for k in T.serial(inner):
                    acc[0] += X[i, k]
            for i in T.Parallel(n):
                for j in T.Parallel(inner):
                    acc[1] += X[i, j]
            for (i, j) in T.Parallel(n, inner):
                acc[2] += X[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, out)

    return main
