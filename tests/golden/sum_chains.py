import tilelang.language as T


def build(n):
    """Left-nested sums: everything but the accumulator is the contribution."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), out: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_reducer((4,), "float32", op="sum", replication="all")
            T.clear(s)
            for j in T.Parallel(n):
                s[0] = s[0] + X[j] + Y[j]
                s[1] = s[1] + X[j] * Y[j] - 1.0
                s[2] = s[2] + X[j] + Y[j] + X[j] * 2
                s[3] = s[3] - X[j] + Y[j]
            T.finalize_reducer(s)
            T.copy(s, out)

    return main
