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
            a = T.alloc_reducer((1,), "float32", op="max", replication="all")
            b = T.alloc_reducer((1,), "float32", op="max", replication="all")
            c = T.alloc_reducer((1,), "float32", op="min", replication="all")
            d = T.alloc_reducer((1,), "float32", op="min", replication="all")
            e = T.alloc_reducer((1,), "int32", op="max", replication="all")
            f = T.alloc_reducer((1,), "int32", op="min", replication="all")
            g = T.alloc_reducer((1,), "int32", op="max", replication="all")
            h = T.alloc_reducer((1,), "int32", op="min", replication="all")
            T.fill(a, T.min_value("float32"))
            T.fill(b, -T.infinity("float32"))
            T.fill(c, T.max_value("float32"))
            T.fill(d, float("inf"))
            T.fill(e, T.min_value("int32"))
            T.fill(f, T.max_value("int32"))
            T.fill(g, -2147483648)
            T.fill(h, 2147483646)
            for j in T.Parallel(n):
                a[0] = T.max(a[0], X[j])
                b[0] = T.max(b[0], X[j])
                c[0] = T.min(c[0], X[j])
                d[0] = T.min(d[0], X[j])
                e[0] = T.max(e[0], Y[j])
                f[0] = T.min(f[0], Y[j])
                g[0] = T.max(g[0], Y[j])
                h[0] = T.min(h[0], Y[j])
            T.finalize_reducer(a)
            T.finalize_reducer(b)
            T.finalize_reducer(c)
            T.finalize_reducer(d)
            T.finalize_reducer(e)
            T.finalize_reducer(f)
            T.finalize_reducer(g)
            T.finalize_reducer(h)
            F[0] = a[0]; F[1] = b[0]; F[2] = c[0]; F[3] = d[0]
            N[0] = e[0]; N[1] = f[0]; N[2] = g[0]; N[3] = h[0]

    return main
