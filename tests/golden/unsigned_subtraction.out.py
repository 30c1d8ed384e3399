import tilelang.language as T


def build(n):
    """TVM has no negation of unsigned values: what is subtracted goes in from 0."""

    @T.prim_func
    def main(C: T.Tensor((n,), "uint32"), D: T.Tensor((n,), "uint8"), out: T.Tensor((3,), "uint32")):
        with T.Kernel(1, threads=64):
            left = T.alloc_reducer((3,), "uint32")
            left_result = T.alloc_fragment((3,), "uint32")
            T.reducer_init(left)
            for j in T.Parallel(n):
                T.reducer_update(left[0], 0 - T.cast(C[j], "uint32"))
                T.reducer_update(left[1], 0 - T.cast(D[j], "uint32"))
                T.reducer_update(left[2], 0 - T.cast(C[j], "uint32"))
            T.finalize_reducer(left, left_result)
            T.copy(left_result, out)

    return main
