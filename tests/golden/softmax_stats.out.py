import tilelang.language as T


def softmax_stats(rows, columns):
    """Row maximum and sum of exponentials; reads one reducer in the other's contribution."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, columns), "float32"),
        peak: T.Tensor((rows,), "float32"),
        total: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=128) as row:
            m = T.alloc_reducer((1,), "float32", op="max")
            m_result = T.alloc_fragment((1,), "float32")
            s = T.alloc_reducer((1,), "float32", op="sum")
            s_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(m)
            T.reducer_init(s)
            for j in T.Parallel(columns):
                T.reducer_update(m[0], X[row, j])
            T.finalize_reducer(m, m_result)
            for j in T.Parallel(columns):
                T.reducer_update(s[0], T.exp(X[row, j] - m_result[0]))
            T.finalize_reducer(s, s_result)
            peak[row] = m_result[0]
            total[row] = s_result[0]

    return main
