import tilelang.language as T


def build(steps, n):
    """Closed in the last iteration of the loop that updates: uniform, left in place."""

    @T.prim_func
    def main(X: T.Tensor((steps, n), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for k in T.serial(steps):
                for j in T.Parallel(n):
                    acc[0] += X[k, j]
                if k == steps - 1:
                    T.finalize_reducer(acc)
                    out[0] = acc[0]

    return main
