import tilelang.language as T


def build(n):
    """Arguments by name in any order, with the comments beside them."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=64):
            total = T.alloc_reducer(dtype="float32", op="sum", shape=(1,))
            total_result = T.alloc_fragment((1,), "float32")
            peak = T.alloc_reducer((1,), op="max", dtype="float32")
            peak_result = T.alloc_fragment((1,), "float32")
            least = T.alloc_reducer((1,), op="min", dtype="float32")
            least_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(total)
            T.reducer_init(peak, X[0])
            T.reducer_init(
                least,  # above everything
                # of all
            )
            for i in T.Parallel(n):
                T.reducer_update(total[0], X[i])
                T.reducer_update(peak[0], X[i])
                T.reducer_update(least[0], X[i])
            T.finalize_reducer(total, total_result)
            T.finalize_reducer(peak, peak_result)
            T.finalize_reducer(least, least_result)
            out[0] = total_result[0]
            out[1] = peak_result[0]
            out[2] = least_result[0]

    return main
