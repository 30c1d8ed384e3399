import tilelang.language as T


def build(rows, n):
    """One reducer's result seeds the next: the running maximum goes on from the first half's."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=64) as row:
            first = T.alloc_reducer((1,), "float32", op="max", replication="all")
            second = T.alloc_reducer((1,), "float32", op="max", replication="all")
            T.fill(first, -T.infinity("float32"))
            for j in T.Parallel(n // 2):
                first[0] = T.max(first[0], X[row, j])
            T.finalize_reducer(first)
            T.fill(second, first[0])
            for j in T.Parallel(n // 2):
                second[0] = T.max(second[0], X[row, n // 2 + j])
            T.finalize_reducer(second)
            out[row] = second[0]

    return main
