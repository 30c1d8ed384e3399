import tilelang.language as T


def rmsnorm(tokens, hidden, eps=1e-6, dtype=T.float16):
    @T.prim_func
    def main(
        X: T.Tensor((tokens, hidden), dtype),
        W: T.Tensor((hidden,), dtype),
        Y: T.Tensor((tokens, hidden), dtype),
    ):
        with T.Kernel(tokens, threads=128) as t:
            row = T.alloc_fragment((hidden,), T.float32)
            sum_sq = T.alloc_reducer((1,), T.float32, replication="all")  # one value a token
            T.copy(X[t, 0:hidden], row)
            T.fill(sum_sq, 0.0)
            for j in T.Parallel(hidden):
                sum_sq[0] += row[j] * row[j]
            T.finalize_reducer(sum_sq)
            scale = T.rsqrt(sum_sq[0] / hidden + eps)
            for j in T.Parallel(hidden):
                Y[t, j] = T.cast(row[j] * scale, dtype) * W[j]

    return main
