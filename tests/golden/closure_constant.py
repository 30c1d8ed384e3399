import tilelang.language as T


def build(n, with_norm):
    """The whole epoch under one closure constant, its read too."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            if with_norm:
                norm = T.alloc_reducer((1,), "float32", op="sum", replication="all")
                T.clear(norm)
                for j in T.Parallel(n):
                    norm[0] += X[j] * X[j]
                T.finalize_reducer(norm)
                out[0] = T.sqrt(norm[0])

    return main
