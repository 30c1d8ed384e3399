import tilelang.language as T


def build(n, reduce_at_end):
    """With the flag off no finalize is emitted, which v2 calls an error: it moves out."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for j in T.Parallel(n):
                T.reducer_update(acc[0], X[j])
            T.finalize_reducer(acc, acc_result)
            # only the last stage writes
            if reduce_at_end:
                out[0] = acc_result[0]

    return main
