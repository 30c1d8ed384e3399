import tilelang.language as T


def build(n):
    """Which fills are the identity depends on the dtype: integers have bounds, floats infinity."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"),
        Y: T.Tensor((n,), "int32"),
        F: T.Tensor((4,), "float32"),
        N: T.Tensor((4,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_reducer((1,), "float32", op="max")
            a_result = T.alloc_fragment((1,), "float32")
            b = T.alloc_reducer((1,), "float32", op="max")
            b_result = T.alloc_fragment((1,), "float32")
            c = T.alloc_reducer((1,), "float32", op="min")
            c_result = T.alloc_fragment((1,), "float32")
            d = T.alloc_reducer((1,), "float32", op="min")
            d_result = T.alloc_fragment((1,), "float32")
            e = T.alloc_reducer((1,), "int32", op="max")
            e_result = T.alloc_fragment((1,), "int32")
            f = T.alloc_reducer((1,), "int32", op="min")
            f_result = T.alloc_fragment((1,), "int32")
            g = T.alloc_reducer((1,), "int32", op="max")
            g_result = T.alloc_fragment((1,), "int32")
            h = T.alloc_reducer((1,), "int32", op="min")
            h_result = T.alloc_fragment((1,), "int32")
            T.reducer_init(a, T.min_value("float32"))
            T.reducer_init(b)
            T.reducer_init(c, T.max_value("float32"))
            T.reducer_init(d)
            T.reducer_init(e)
            T.reducer_init(f)
            T.reducer_init(g)
            T.reducer_init(h, 2147483646)
            for j in T.Parallel(n):
                T.reducer_update(a[0], X[j])
                T.reducer_update(b[0], X[j])
                T.reducer_update(c[0], X[j])
                T.reducer_update(d[0], X[j])
                T.reducer_update(e[0], Y[j])
                T.reducer_update(f[0], Y[j])
                T.reducer_update(g[0], Y[j])
                T.reducer_update(h[0], Y[j])
            T.finalize_reducer(a, a_result)
            T.finalize_reducer(b, b_result)
            T.finalize_reducer(c, c_result)
            T.finalize_reducer(d, d_result)
            T.finalize_reducer(e, e_result)
            T.finalize_reducer(f, f_result)
            T.finalize_reducer(g, g_result)
            T.finalize_reducer(h, h_result)
            F[0] = a_result[0]; F[1] = b_result[0]; F[2] = c_result[0]; F[3] = d_result[0]
            N[0] = e_result[0]; N[1] = f_result[0]; N[2] = g_result[0]; N[3] = h_result[0]

    return main
