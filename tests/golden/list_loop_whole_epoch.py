import tilelang.language as T


def build(n):
    """Unrolled at trace with everything inside: each turn has its own allocation."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            for slot, scale in enumerate([1.0, 2.0]):
                acc = T.alloc_reducer((1,), "float32", replication="all")
                T.clear(acc)
                for j in T.Parallel(n):
                    acc[0] += X[j] * scale
                T.finalize_reducer(acc)
                out[slot] = acc[0]

    return main
