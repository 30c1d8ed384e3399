import tilelang.language as T


def build(n):
    """What is subtracted may be a bool or unsigned: negating it there would wrap."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), C: T.Tensor((n,), "uint8"), out: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=64):
            misses = T.alloc_reducer((4,), "int32", replication="all")
            T.clear(misses)
            for j in T.Parallel(n):
                misses[0] -= X[j] > 0
                misses[1] -= C[j]
                misses[2] -= T.cast(C[j], "uint8")
                misses[3] -= T.cast(C[j], "int32")
            T.finalize_reducer(misses)
            T.copy(misses, out)

    return main
