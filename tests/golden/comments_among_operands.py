import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for i in T.Parallel(n):
                acc[0] = (
                    acc[0]  # so far
                    + X[i]  # this one
                    + X[n - 1 - i]  # and its mirror
                )
                # twice
                acc[0] = (
                    X[i]
                    # plus
                    + acc[0]  # so far
                )
                acc[0] = acc[0] + (  # shifted
                    X[i] + 1.0
                )
                acc[0] = (acc[0]  # so far
                          + X[i])
            T.finalize_reducer(acc)
            out[0] = acc[0]

    return main
