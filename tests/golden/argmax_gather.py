import tilelang.language as T


def argmax_gather(rows, n):
    """First index of the row maximum; the result indexes another buffer."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, n), "float32"),
        V: T.Tensor((n,), "float32"),
        out: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=128) as row:
            peak = T.alloc_reducer((1,), "float32", op="max", replication="all")
            where = T.alloc_reducer((1,), "int32", op="min", replication="all")
            T.fill(peak, float("-inf"))
            T.fill(where, T.max_value("int32"))
            for j in T.Parallel(n):
                peak[0] = T.max(peak[0], X[row, j])
            T.finalize_reducer(peak)
            for j in T.Parallel(n):
                if X[row, j] == peak[0]:
                    where[0] = T.min(where[0], j)
            T.finalize_reducer(where)
            if where[0] < n:
                out[row] = V[where[0]]

    return main
