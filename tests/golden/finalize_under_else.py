import tilelang.language as T


def build(rows, n):
    """A run-time `else:` closes the epoch; alloc and fill are above it."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, n), "float32"),
        length: T.Tensor((rows,), "int32"),
        out: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=64) as row:
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for j in T.Parallel(n):
                if j < length[row]:
                    acc[0] += X[row, j]
            if length[row] == 0:
                out[row] = 0
            else:
                T.finalize_reducer(acc)
                out[row] = acc[0]

    return main
