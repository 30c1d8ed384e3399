import tilelang.language as T

acc_result_3 = 7


def build(n, acc_result_2=3):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            acc_result = T.alloc_fragment((1,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            acc_result_4 = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            T.clear(acc_result)
            for j in T.Parallel(n):
                T.reducer_update(acc[0], X[j])
            T.finalize_reducer(acc, acc_result_4)
            out[0] = acc_result_4[0]
            out[1] = acc_result[0] + acc_result_2 + acc_result_3

    return main
