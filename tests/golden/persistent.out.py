import tilelang.language as T


def build(rows, n):
    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(64, threads=64) as block:
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            for row, lane in T.Persistent([rows, 1], 64, block):
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[row, j])
                T.finalize_reducer(acc, acc_result)
                out[row] = acc_result[0]

    return main
