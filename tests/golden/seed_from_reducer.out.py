import tilelang.language as T


def build(rows, n):
    """One reducer's result seeds the next: the running maximum goes on from the first half's."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=64) as row:
            first = T.alloc_reducer((1,), "float32", op="max")
            first_result = T.alloc_fragment((1,), "float32")
            second = T.alloc_reducer((1,), "float32", op="max")
            second_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(first)
            for j in T.Parallel(n // 2):
                T.reducer_update(first[0], X[row, j])
            T.finalize_reducer(first, first_result)
            T.reducer_init(second, first_result[0])
            for j in T.Parallel(n // 2):
                T.reducer_update(second[0], X[row, n // 2 + j])
            T.finalize_reducer(second, second_result)
            out[row] = second_result[0]

    return main
