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
            m = T.alloc_reducer((1,), "float32", op="max", replication="all")
            s = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.fill(m, -T.infinity("float32"))
            T.fill(s, 0)
            for j in T.Parallel(columns):
                m[0] = T.max(X[row, j], m[0])
            T.finalize_reducer(m)
            for j in T.Parallel(columns):
                s[0] = s[0] + T.exp(X[row, j] - m[0])
            T.finalize_reducer(s)
            peak[row] = m[0]
            total[row] = s[0]

    return main
