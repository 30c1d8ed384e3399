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
            a = T.alloc_reducer((1,), dt, op="max", replication="all")
            b = T.alloc_reducer((1,), dt, op="max", replication="all")
            c = T.alloc_reducer((1,), dt, op="max", replication="all")
            d = T.alloc_reducer((1,), dt, op="max", replication="all")
            e = T.alloc_reducer((1,), dt, op="min", replication="all")
            f = T.alloc_reducer((1,), dt, op="min", replication="all")
            g = T.alloc_reducer((1,), dt, op="max", replication="all")
            T.copy(floor, kept)
            T.fill(a, bound[0] * 0.5)
            T.fill(b, T.float32(0))
            T.fill(c, T.min_value(dt))
            T.fill(d, kept[0])
            T.fill(e, T.cast(bound[1], dt))
            T.fill(f, -1.5)
            T.clear(g)
            for j in T.Parallel(n):
                a[0] = T.max(a[0], X[j])
                b[0] = T.max(b[0], X[j])
                c[0] = T.max(c[0], X[j])
                d[0] = T.max(d[0], X[j])
                e[0] = T.min(e[0], X[j])
                f[0] = T.min(f[0], X[j])
                g[0] = T.max(g[0], X[j])
            T.finalize_reducer(a)
            T.finalize_reducer(b)
            T.finalize_reducer(c)
            T.finalize_reducer(d)
            T.finalize_reducer(e)
            T.finalize_reducer(f)
            T.finalize_reducer(g)
            out[0] = a[0]
            out[1] = b[0]
            out[2] = c[0]
            out[3] = d[0]
            out[4] = e[0]
            out[5] = f[0]
            out[6] = g[0]

    return main
