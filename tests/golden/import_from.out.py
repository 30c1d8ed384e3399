from tilelang import language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            total = T.alloc_reducer((1, ), 'float32', op='sum')
            total_result = T.alloc_fragment((1, ), 'float32')
            T.reducer_init(total)
            for j in T.Parallel(n):
                T.reducer_update(total[0], X[j])
            T.finalize_reducer(total, total_result)
            out[0] = total_result[0]

    return main
