import tilelang.language as T


def build(n):
    """Subtraction spelled as a store, alone and in a chain; every site of one statement block."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), out: T.Tensor((6,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_reducer((6,), "float32")
            s_result = T.alloc_fragment((6,), "float32")
            T.reducer_init(s)
            for j in T.Parallel(n):
                T.reducer_update(s[0], -X[j])
                T.reducer_update(s[1], -1.5)
                T.reducer_update(s[2], -T.exp(X[j]))
                T.reducer_update(s[3], -(-X[j]))
                T.reducer_update(s[4], -X[j] * 2)
                T.reducer_update(s[5], -(X[j] if n > 32 else Y[j]))
            T.finalize_reducer(s, s_result)
            T.copy(s_result, out)

    return main
