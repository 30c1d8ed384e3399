import tilelang.language as T


def build(rows, n):
    """Under a run-time uniform condition the finalize stays where it is."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, n), "float32"),
        skip: T.Tensor((rows,), "int32"),
        out: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=64) as row:
            if skip[row] == 0:
                acc = T.alloc_reducer((1,), "float32", replication="all")
                T.clear(acc)
                for j in T.Parallel(n):
                    acc[0] += X[row, j]
                T.finalize_reducer(acc)
                out[row] = acc[0]

    return main
