import tilelang.language as T


def build(n):
    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), out: T.Tensor((8,), "float32")
    ):
        with T.Kernel(1, threads=64):
            s = T.alloc_reducer((8,), "float32", op="sum")
            s_result = T.alloc_fragment((8,), "float32")
            T.reducer_init(s)
            for j in T.Parallel(n):
                T.reducer_update(s[0], X[j])
                T.reducer_update(s[1], X[j])
                T.reducer_update(s[2], X[j])
                T.reducer_update(s[3], T.if_then_else(X[j] > 0, X[j], 0))
                T.reducer_update(s[4], X[j] if n > 32 else Y[j])
                T.reducer_update(s[5], X[j] + Y[j])
                T.reducer_update(s[6], T.exp(Y[j]))
                T.reducer_update(s[7], T.exp(X[j]))  # parenthesized
            T.finalize_reducer(s, s_result)
            T.copy(s_result, out)

    return main
