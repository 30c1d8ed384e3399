import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_reducer((1,), "float32"); a_result = T.alloc_fragment((1,), "float32"); T.reducer_init(a)
            b = T.alloc_reducer((1,), "float32", op="max"); b_result = T.alloc_fragment((1,), "float32"); T.reducer_init(b, 0);  # two
            for j in T.Parallel(n):
                T.reducer_update(a[0], X[j]); T.reducer_update(b[0], X[j])
            T.finalize_reducer(a, a_result); T.finalize_reducer(b, b_result)
            out[0] = a_result[0]; out[1] = b_result[0]

    return main
