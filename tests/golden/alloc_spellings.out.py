import tilelang.language as T

ALL = "all"


def variants(n, how, dt):
    """Positional op, op from a variable, replication from an expression, keywords in any order."""
    rep = "all" if n > 32 else "none"

    @T.prim_func
    def main(X: T.Tensor((n,), dt), out: T.Tensor((6,), dt)):
        with T.Kernel(1, threads=64):
            a = T.alloc_reducer((1,), dt, "max")
            a_result = T.alloc_fragment((1,), dt)
            b = T.alloc_reducer((1,), dt, how)
            b_result = T.alloc_fragment((1,), dt)
            c = T.alloc_reducer(dtype=dt, op="sum", shape=(1,))
            c_result = T.alloc_fragment((1,), dt)
            d = T.alloc_reducer((1,), dt, "min")
            d_result = T.alloc_fragment((1,), dt)
            e = T.alloc_reducer((1,), dt, op="sum")
            e_result = T.alloc_fragment((1,), dt)
            f: object = T.alloc_reducer((1,), dtype=dt)
            f_result = T.alloc_fragment((1,), dt)
            T.reducer_init(a)
            T.reducer_init(b, 0)
            T.reducer_init(c)
            T.reducer_init(d)
            T.reducer_init(e)
            T.reducer_init(f)
            for j in T.Parallel(n):
                T.reducer_update(a[0], X[j])
                if how == "max":
                    T.reducer_update(b[0], X[j])
                else:
                    T.reducer_update(b[0], X[j])
                T.reducer_update(c[0], X[j])
                T.reducer_update(d[0], X[j])
                T.reducer_update(e[0], X[j])
                T.reducer_update(f[0], X[j])
            T.finalize_reducer(a, a_result)
            T.finalize_reducer(b, b_result)
            T.finalize_reducer(c, c_result)
            T.finalize_reducer(d, d_result)
            T.finalize_reducer(e, e_result)
            T.finalize_reducer(f, f_result)
            out[0] = a_result[0]
            out[1] = b_result[0]
            out[2] = c_result[0]
            out[3] = d_result[0]
            out[4] = e_result[0]
            out[5] = f_result[0]

    return main
