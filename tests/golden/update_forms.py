import tilelang.language as T


def build(n):
    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), out: T.Tensor((8,), "float32")
    ):
        with T.Kernel(1, threads=64):
            s = T.alloc_reducer((8,), "float32", op="sum", replication="all")
            T.clear(s)
            for j in T.Parallel(n):
                s[0] += X[j]
                s[1] = s[1] + X[j]
                s[2] = X[j] + s[2]
                s[3] += T.if_then_else(X[j] > 0, X[j], 0)
                s[4] += X[j] if n > 32 else Y[j]
                s[5] = s[5] + (X[j] + Y[j])
                s[6] = T.exp(Y[j]) + s[6]
                s[7] = (s[7] + T.exp(X[j]))  # parenthesized
            T.finalize_reducer(s)
            T.copy(s, out)

    return main
