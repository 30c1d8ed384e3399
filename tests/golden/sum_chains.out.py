import tilelang.language as T


def build(n):
    """Left-nested sums: everything but the accumulator is the contribution."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), out: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_reducer((4,), "float32", op="sum")
            s_result = T.alloc_fragment((4,), "float32")
            T.reducer_init(s)
            for j in T.Parallel(n):
                T.reducer_update(s[0], X[j] + Y[j])
                T.reducer_update(s[1], X[j] * Y[j] - 1.0)
                T.reducer_update(s[2], X[j] + Y[j] + X[j] * 2)
                T.reducer_update(s[3], -X[j] + Y[j])
            T.finalize_reducer(s, s_result)
            T.copy(s_result, out)

    return main
