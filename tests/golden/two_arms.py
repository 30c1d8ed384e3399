import tilelang.language as T


def build(n, squared):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            if squared:
                acc = T.alloc_reducer((1,), "float32", replication="all")
                T.clear(acc)
                for j in T.Parallel(n):
                    acc[0] += X[j] * X[j]
                T.finalize_reducer(acc)
                out[0] = acc[0]
            else:
                acc = T.alloc_reducer((1,), "float32", "max", replication="all")
                T.fill(acc, 0.0)
                for j in T.Parallel(n):
                    acc[0] = T.max(acc[0], X[j])
                T.finalize_reducer(acc)
                out[0] = acc[0]

    return main
