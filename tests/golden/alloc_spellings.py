import tilelang.language as T

ALL = "all"


def variants(n, how, dt):
    """Positional op, op from a variable, replication from an expression, keywords in any order."""
    rep = "all" if n > 32 else "none"

    @T.prim_func
    def main(X: T.Tensor((n,), dt), out: T.Tensor((6,), dt)):
        with T.Kernel(1, threads=64):
            a = T.alloc_reducer((1,), dt, "max", replication=rep)
            b = T.alloc_reducer((1,), dt, how, replication="all" if n > 32 else "none")
            c = T.alloc_reducer(dtype=dt, op="sum", shape=(1,), replication=ALL)
            d = T.alloc_reducer((1,), dt, "min", "all")
            e = T.alloc_reducer((1,), dt, replication="all", op="sum")
            f: object = T.alloc_reducer((1,), dtype=dt, replication="none")
            T.fill(a, -T.infinity(dt))
            T.clear(b)
            T.clear(c)
            T.fill(d, T.infinity(dt))
            T.fill(e, value=0)
            T.clear(f)
            for j in T.Parallel(n):
                a[0] = T.max(a[0], X[j])
                if how == "max":
                    b[0] = T.max(b[0], X[j])
                else:
                    b[0] += X[j]
                c[0] += X[j]
                d[0] = T.min(d[0], X[j])
                e[0] += X[j]
                f[0] += X[j]
            T.finalize_reducer(a)
            T.finalize_reducer(b)
            T.finalize_reducer(c)
            T.finalize_reducer(reducer=d)
            T.finalize_reducer(e)
            T.finalize_reducer(f)
            out[0] = a[0]
            out[1] = b[0]
            out[2] = c[0]
            out[3] = d[0]
            out[4] = e[0]
            out[5] = f[0]

    return main
