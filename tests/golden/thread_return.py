import tilelang.language as T


def build(rows, n):
    @T.prim_func
    def main(
        X: T.Tensor((rows, n), "float32"),
        length: T.Tensor((rows,), "int32"),
        out: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=64) as row:
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            if length[row] == 0:
                T.thread_return()
            for j in T.Parallel(n):
                acc[0] += X[row, j]
            T.finalize_reducer(acc)
            out[row] = acc[0]

    return main
