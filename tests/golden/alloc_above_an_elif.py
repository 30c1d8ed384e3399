import tilelang.language as T


def build(n, mode):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            if mode == "first":
                out[0] = X[0]
            elif mode == "total":
                T.clear(acc)
                for j in T.Parallel(n):
                    acc[0] += X[j]
                T.finalize_reducer(acc)
                out[0] = acc[0]

    return main
