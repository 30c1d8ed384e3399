import tilelang.language as T


def build(m, n, batch):
    """A batch is a hint: it is dropped, with a note where it was not 1."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), out: T.Tensor((5, m), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_reducer((m,), "float32")
            a_result = T.alloc_fragment((m,), "float32")
            b = T.alloc_reducer((m,), "float32")
            b_result = T.alloc_fragment((m,), "float32")
            c = T.alloc_reducer((m,), "float32")
            c_result = T.alloc_fragment((m,), "float32")
            d = T.alloc_reducer((m,), "float32")
            d_result = T.alloc_fragment((m,), "float32")
            e = T.alloc_reducer((m,), "float32")
            e_result = T.alloc_fragment((m,), "float32")
            T.reducer_init(a)
            T.reducer_init(b)
            T.reducer_init(c)
            T.reducer_init(d)
            T.reducer_init(e)
            for i, j in T.Parallel(m, n):
                T.reducer_update(a[i], X[i, j])
                T.reducer_update(b[i], X[i, j])
                T.reducer_update(c[i], X[i, j])
                T.reducer_update(d[i], X[i, j])
                T.reducer_update(e[i], X[i, j])
            T.finalize_reducer(a, a_result)
            T.finalize_reducer(b, b_result)
            T.finalize_reducer(c, c_result)
            T.finalize_reducer(d, d_result)
            T.finalize_reducer(e, e_result)  # two at a time
            for i in T.Parallel(m):
                out[0, i] = a_result[i]
                out[1, i] = b_result[i]
                out[2, i] = c_result[i]
                out[3, i] = d_result[i]
                out[4, i] = e_result[i]

    return main
