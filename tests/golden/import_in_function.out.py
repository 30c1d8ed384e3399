def build(rows, n):
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=64):
            o = T.alloc_reducer(rows, "float32")
            o_result = T.alloc_fragment(rows, "float32")
            T.reducer_init(o)
            for i, j in T.Parallel(rows, n):
                T.reducer_update(o[i], X[i, j])
            T.finalize_reducer(o, o_result)
            T.copy(o_result, out)

    return main
