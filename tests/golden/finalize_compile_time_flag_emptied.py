import tilelang.language as T

REDUCE = True


def build(n, flag):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for j in T.Parallel(n):
                acc[0] += X[j]
            if REDUCE and not flag:
                T.finalize_reducer(acc)
            if REDUCE and not flag:
                out[0] = acc[0]

    return main
