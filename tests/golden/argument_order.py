import tilelang.language as T


def build(n):
    """Arguments by name in any order, with the comments beside them."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=64):
            total = T.alloc_reducer(dtype="float32", op="sum", replication="all", shape=(1,))
            peak = T.alloc_reducer((1,), replication="all", op="max", dtype="float32")
            least = T.alloc_reducer((1,), op="min", replication="all", dtype="float32")
            T.fill(value=0, buffer=total)
            T.fill(value=X[0], buffer=peak)
            T.fill(
                value=T.infinity("float32"),  # above everything
                buffer=least,  # of all
            )
            for i in T.Parallel(n):
                total[0] += X[i]
                peak[0] = T.max(peak[0], X[i])
                least[0] = T.min(least[0], X[i])
            T.finalize_reducer(batch=1, reducer=total)
            T.finalize_reducer(reducer=peak, dst=None)
            T.finalize_reducer(batch=1, reducer=least,)
            out[0] = total[0]
            out[1] = peak[0]
            out[2] = least[0]

    return main
