import tilelang.language as T


def build(n, m):
    """Statements over several lines keep their lines and their comments."""

    @T.prim_func
    def main(X: T.Tensor((n, m), "float32"), Y: T.Tensor((n, m), "float32"), out: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer(
                (n,), "float32", op="sum",
                replication="all",  # every thread
            )
            T.fill(
                acc,  # from
                0,  # nothing
            )
            for i, j in T.Parallel(n, m):
                acc[i] += (
                    X[i, j]  # left
                    * Y[i, j]  # right
                )
            T.finalize_reducer(
                acc
            )
            # out at last
            T.copy(acc, out)

    return main
