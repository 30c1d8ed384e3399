import tilelang.language as T


def build(n, with_norm):
    """The whole epoch under one closure constant, its read too."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            if with_norm:
                norm = T.alloc_reducer((1,), "float32", op="sum")
                norm_result = T.alloc_fragment((1,), "float32")
                T.reducer_init(norm)
                for j in T.Parallel(n):
                    T.reducer_update(norm[0], X[j] * X[j])
                T.finalize_reducer(norm, norm_result)
                out[0] = T.sqrt(norm_result[0])

    return main
