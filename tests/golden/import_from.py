from tilelang import language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            total = T.alloc_reducer((1, ), 'float32', op='sum', replication='all')
            T.fill(total, T.float32(0))
            for j in T.Parallel(n):
                total[0] = X[j] + total[0]
            T.finalize_reducer(total)
            out[0] = total[0]

    return main
