import tilelang.language as T


def build(n, mode):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            if not (mode == "first") and (mode == "total"):
                acc = T.alloc_reducer((1,), "float32")
                acc_result = T.alloc_fragment((1,), "float32")
            if mode == "first":
                out[0] = X[0]
            elif mode == "total":
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[j])
                T.finalize_reducer(acc, acc_result)
                out[0] = acc_result[0]

    return main
