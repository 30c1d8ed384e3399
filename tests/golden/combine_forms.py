import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2, 2), "float32")):
        with T.Kernel(1, threads=64):
            hi = T.alloc_reducer((2,), "float32", op="max", replication="all")
            lo = T.alloc_reducer((2,), "float32", op="min", replication="all")
            T.fill(hi, -T.infinity("float32"))
            T.fill(lo, T.infinity("float32"))
            for j in T.Parallel(n):
                hi[0] = T.max(hi[0], X[j])
                hi[1] = T.max(T.abs(X[j]), hi[1])
                lo[0] = T.min(lo[0], X[j])
                lo[1] = T.min(X[j] * X[j], lo[1])
            T.finalize_reducer(hi)
            T.finalize_reducer(lo)
            for i in T.Parallel(2):
                out[0, i] = hi[i]
                out[1, i] = lo[i]

    return main
