import tilelang.language as T


def build(rows, n):
    """A fresh epoch every iteration, allocation included."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=64):
            for r in T.serial(rows):
                acc = T.alloc_reducer((1,), "float32", replication="all")
                T.clear(acc)
                for j in T.Parallel(n):
                    acc[0] += X[r, j]
                T.finalize_reducer(acc)
                out[r] = acc[0]

    return main
