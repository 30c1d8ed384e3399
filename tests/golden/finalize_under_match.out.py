import tilelang.language as T


def build(n, mode):
    """A `case` is a flag that the trace resolves: what is not under it moves, or is hoisted."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(n):
                T.reducer_update(acc[0], X[i])
            out[1] = 1.0
            T.finalize_reducer(acc, acc_result)
            match mode:
                case "sum" | "mean":
                    out[0] = acc_result[0]
                case _:
                    out[0] = 0.0
            match mode:
                case "max":
                    peak = T.alloc_reducer((1,), "float32", op="max")
                    peak_result = T.alloc_fragment((1,), "float32")
                    T.reducer_init(peak)
                    for i in T.Parallel(n):
                        T.reducer_update(peak[0], X[i])
                    T.finalize_reducer(peak, peak_result)
                    out[1] = peak_result[0]

    return main
