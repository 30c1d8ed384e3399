import tilelang.language as T


def build(n, mode):
    """A `case` is a flag that the trace resolves: what is not under it moves, or is hoisted."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for i in T.Parallel(n):
                acc[0] += X[i]
            out[1] = 1.0
            match mode:
                case "sum" | "mean":
                    T.finalize_reducer(acc)
                    out[0] = acc[0]
                case _:
                    out[0] = 0.0
            match mode:
                case "max":
                    peak = T.alloc_reducer((1,), "float32", op="max", replication="all")
                    T.fill(peak, -T.infinity("float32"))
                    for i in T.Parallel(n):
                        peak[0] = T.max(peak[0], X[i])
                    T.finalize_reducer(peak)
                    out[1] = peak[0]

    return main
