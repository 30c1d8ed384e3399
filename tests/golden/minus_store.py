import tilelang.language as T


def build(n):
    """Subtraction spelled as a store, alone and in a chain; every site of one statement block."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), out: T.Tensor((6,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_reducer((6,), "float32", replication="all")
            T.clear(s)
            for j in T.Parallel(n):
                s[0] = s[0] - X[j]
                s[1] -= 1.5
                s[2] -= T.exp(X[j])
                s[3] -= -X[j]
                s[4] += -X[j] * 2
                s[5] -= X[j] if n > 32 else Y[j]
            T.finalize_reducer(s)
            T.copy(s, out)

    return main
