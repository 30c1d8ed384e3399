import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_reducer((1,), "float32", replication="all"); T.clear(a)
            b = T.alloc_reducer((1,), "float32", op="max", replication="all"); T.clear(b);  # two
            for j in T.Parallel(n):
                a[0] += X[j]; b[0] = T.max(b[0], X[j])
            T.finalize_reducer(a); T.finalize_reducer(b)
            out[0] = a[0]; out[1] = b[0]

    return main
