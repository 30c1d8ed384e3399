import tilelang.language as T

OPENING = {"value": 0}


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.fill(acc, **OPENING)
            for i in T.Parallel(n):
                acc[0] += X[i]
            T.finalize_reducer(*[acc])
            out[0] = acc[0]

    return main
