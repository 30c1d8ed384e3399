import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(n):
                # so far
                T.reducer_update(acc[0], (
                    X[i]  # this one
                    + X[n - 1 - i]  # and its mirror
                ))
                # twice
                # plus
                T.reducer_update(acc[0], (
                    X[i]  # so far
                ))
                T.reducer_update(acc[0], (  # shifted
                    X[i] + 1.0
                ))
                T.reducer_update(acc[0], X[i])  # so far
            T.finalize_reducer(acc, acc_result)
            out[0] = acc_result[0]

    return main
