import tilelang.language as T


def build(n, with_norm):
    """The updates are under the flag too, so alloc and init move under it."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"),
        Y: T.Tensor((n,), "float32"),
        out: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(1, threads=64):
            norm = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(norm)
            for j in T.Parallel(n):
                Y[j] = X[j] * 2
                if with_norm:
                    norm[0] += X[j] * X[j]
            if with_norm:
                T.finalize_reducer(norm)
                out[0] = norm[0]

    return main
