import tilelang.language as T


def build(m, n):
    """A positional batch would become the destination in v2."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), out: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_reducer((m,), "float32")
            a_result = T.alloc_fragment((m,), "float32")
            T.reducer_init(a)
            for i, j in T.Parallel(m, n):
                T.reducer_update(a[i], X[i, j])
            T.finalize_reducer(a, a_result)
            T.copy(a_result, out)

    return main
