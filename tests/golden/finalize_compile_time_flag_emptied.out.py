import tilelang.language as T

REDUCE = True


def build(n, flag):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for j in T.Parallel(n):
                T.reducer_update(acc[0], X[j])
            T.finalize_reducer(acc, acc_result)
            if REDUCE and not flag:
                pass
            if REDUCE and not flag:
                out[0] = acc_result[0]

    return main
