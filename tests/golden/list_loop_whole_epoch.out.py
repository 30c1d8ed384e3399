import tilelang.language as T


def build(n):
    """Unrolled at trace with everything inside: each turn has its own allocation."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            for slot, scale in enumerate([1.0, 2.0]):
                acc = T.alloc_reducer((1,), "float32")
                acc_result = T.alloc_fragment((1,), "float32")
                T.reducer_init(acc)
                for j in T.Parallel(n):
                    T.reducer_update(acc[0], X[j] * scale)
                T.finalize_reducer(acc, acc_result)
                out[slot] = acc_result[0]

    return main
