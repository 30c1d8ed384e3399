import tilelang.language as T


@T.macro
def row_total(X, row, out, n):
    """A macro with a reducer of its own."""
    acc = T.alloc_reducer((1,), "float32", replication="all")
    T.clear(acc)
    for j in T.Parallel(n):
        acc[0] += X[row, j]
    T.finalize_reducer(acc)
    out[row] = acc[0]


def build(rows, n):
    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=64) as row:
            row_total(X, row, out, n)

    return main
