import tilelang.language as T


def build(n):
    """What is subtracted may be a bool or unsigned: negating it there would wrap."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), C: T.Tensor((n,), "uint8"), out: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=64):
            misses = T.alloc_reducer((4,), "int32")
            misses_result = T.alloc_fragment((4,), "int32")
            T.reducer_init(misses)
            for j in T.Parallel(n):
                T.reducer_update(misses[0], -T.cast(X[j] > 0, "int32"))
                T.reducer_update(misses[1], -T.cast(C[j], "int32"))
                T.reducer_update(misses[2], -T.cast(T.cast(C[j], "uint8"), "int32"))
                T.reducer_update(misses[3], -T.cast(C[j], "int32"))
            T.finalize_reducer(misses, misses_result)
            T.copy(misses_result, out)

    return main
