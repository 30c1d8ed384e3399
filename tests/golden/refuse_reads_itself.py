import tilelang.language as T


def build(n):
    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"),
        W: T.Tensor((1,), "float32"),
        out: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(1, threads=64) as block:
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for j in T.Parallel(n):
                acc[0] += X[j] * acc[0]
            T.finalize_reducer(acc)
            out[0] = acc[0]

    return main
