import tilelang.language as T


def build(n, dt="float16"):
    """Non-identity fills stay, as seeds; an expression is cast unless its dtype is known."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), dt),
        bound: T.Tensor((2,), "float32"),
        floor: T.Tensor((1,), dt),
        out: T.Tensor((7,), dt),
    ):
        with T.Kernel(1, threads=64):
            kept = T.alloc_fragment((1,), dt)
            a = T.alloc_reducer((1,), dt, op="max")
            a_result = T.alloc_fragment((1,), dt)
            b = T.alloc_reducer((1,), dt, op="max")
            b_result = T.alloc_fragment((1,), dt)
            c = T.alloc_reducer((1,), dt, op="max")
            c_result = T.alloc_fragment((1,), dt)
            d = T.alloc_reducer((1,), dt, op="max")
            d_result = T.alloc_fragment((1,), dt)
            e = T.alloc_reducer((1,), dt, op="min")
            e_result = T.alloc_fragment((1,), dt)
            f = T.alloc_reducer((1,), dt, op="min")
            f_result = T.alloc_fragment((1,), dt)
            g = T.alloc_reducer((1,), dt, op="max")
            g_result = T.alloc_fragment((1,), dt)
            T.copy(floor, kept)
            T.reducer_init(a, T.cast(bound[0] * 0.5, dt))
            T.reducer_init(b, T.cast(T.float32(0), dt))
            T.reducer_init(c, T.min_value(dt))
            T.reducer_init(d, kept[0])
            T.reducer_init(e, T.cast(bound[1], dt))
            T.reducer_init(f, -1.5)
            T.reducer_init(g, 0)
            for j in T.Parallel(n):
                T.reducer_update(a[0], X[j])
                T.reducer_update(b[0], X[j])
                T.reducer_update(c[0], X[j])
                T.reducer_update(d[0], X[j])
                T.reducer_update(e[0], X[j])
                T.reducer_update(f[0], X[j])
                T.reducer_update(g[0], X[j])
            T.finalize_reducer(a, a_result)
            T.finalize_reducer(b, b_result)
            T.finalize_reducer(c, c_result)
            T.finalize_reducer(d, d_result)
            T.finalize_reducer(e, e_result)
            T.finalize_reducer(f, f_result)
            T.finalize_reducer(g, g_result)
            out[0] = a_result[0]
            out[1] = b_result[0]
            out[2] = c_result[0]
            out[3] = d_result[0]
            out[4] = e_result[0]
            out[5] = f_result[0]
            out[6] = g_result[0]

    return main
