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
            peak = T.alloc_reducer((1,), "float32", op="max")
            peak_result = T.alloc_fragment((1,), "float32")
            where = T.alloc_reducer((1,), "int32", op="min")
            where_result = T.alloc_fragment((1,), "int32")
            T.reducer_init(peak)
            T.reducer_init(where)
            for j in T.Parallel(n):
                T.reducer_update(peak[0], X[row, j])
            T.finalize_reducer(peak, peak_result)
            for j in T.Parallel(n):
                if X[row, j] == peak_result[0]:
                    T.reducer_update(where[0], j)
            T.finalize_reducer(where, where_result)
            if where_result[0] < n:
                out[row] = V[where_result[0]]

    return main
