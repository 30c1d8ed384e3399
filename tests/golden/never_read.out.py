import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            unused = T.alloc_reducer((1,), "float32")
            unused_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(unused)
            for j in T.Parallel(n):
                T.reducer_update(unused[0], X[j])
            T.finalize_reducer(unused, unused_result)
            out[0] = X[0]

    return main
