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
            sum_sq = T.alloc_reducer((1,), T.float32)  # one value a token
            sum_sq_result = T.alloc_fragment((1,), T.float32)
            T.copy(X[t, 0:hidden], row)
            T.reducer_init(sum_sq)
            for j in T.Parallel(hidden):
                T.reducer_update(sum_sq[0], row[j] * row[j])
            T.finalize_reducer(sum_sq, sum_sq_result)
            scale = T.rsqrt(sum_sq_result[0] / hidden + eps)
            for j in T.Parallel(hidden):
                Y[t, j] = T.cast(row[j] * scale, dtype) * W[j]

    return main
