import tilelang.language as T


def build(n, with_total):
    """With the flag off v2 would have an allocation that is never opened: it moves under it."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            if with_total:
                acc = T.alloc_reducer((1,), "float32")  # one
                acc_result = T.alloc_fragment((1,), "float32")
            row = T.alloc_fragment((n,), "float32")
            T.copy(X, row)
            if with_total:
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], row[j])
                T.finalize_reducer(acc, acc_result)
                out[0] = acc_result[0]

    return main
