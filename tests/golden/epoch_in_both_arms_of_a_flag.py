import tilelang.language as T


def build(n, largest):
    """A trace keeps one arm of each flag, so that the epoch is in one scope."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            wide = n > 32
            every = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            if largest:
                acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
                T.fill(acc, -T.infinity("float32"))
                for j in T.Parallel(n):
                    acc[0] = T.max(acc[0], X[j])
            else:
                acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
                T.clear(acc)
                for j in T.Parallel(n):
                    acc[0] += X[j]
            T.finalize_reducer(acc)
            out[0] = acc[0]
            if wide:
                T.clear(every)
                for j in T.Parallel(n):
                    every[0] += X[j]
                T.finalize_reducer(every)
                out[1] = every[0]

    return main
