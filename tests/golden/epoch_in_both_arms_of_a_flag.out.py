import tilelang.language as T


def build(n, largest):
    """A trace keeps one arm of each flag, so that the epoch is in one scope."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            wide = n > 32
            if wide:
                every = T.alloc_reducer((1,), "float32", op="sum")
                every_result = T.alloc_fragment((1,), "float32")
            if largest:
                acc = T.alloc_reducer((1,), "float32", op="max")
                acc_result = T.alloc_fragment((1,), "float32")
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[j])
            else:
                acc = T.alloc_reducer((1,), "float32", op="sum")
                acc_result = T.alloc_fragment((1,), "float32")
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[j])
            T.finalize_reducer(acc, acc_result)
            out[0] = acc_result[0]
            if wide:
                T.reducer_init(every)
                for j in T.Parallel(n):
                    T.reducer_update(every[0], X[j])
                T.finalize_reducer(every, every_result)
                out[1] = every_result[0]

    return main
