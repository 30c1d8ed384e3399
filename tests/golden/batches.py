import tilelang.language as T


def build(m, n, batch):
    """A batch is a hint: it is dropped, with a note where it was not 1."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), out: T.Tensor((5, m), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_reducer((m,), "float32", replication="all")
            b = T.alloc_reducer((m,), "float32", replication="all")
            c = T.alloc_reducer((m,), "float32", replication="all")
            d = T.alloc_reducer((m,), "float32", replication="all")
            e = T.alloc_reducer((m,), "float32", replication="all")
            T.clear(a)
            T.clear(b)
            T.clear(c)
            T.clear(d)
            T.clear(e)
            for i, j in T.Parallel(m, n):
                a[i] += X[i, j]
                b[i] += X[i, j]
                c[i] += X[i, j]
                d[i] += X[i, j]
                e[i] += X[i, j]
            T.finalize_reducer(a, batch=1)
            T.finalize_reducer(b, batch=4)
            T.finalize_reducer(c, batch=m)
            T.finalize_reducer(d, batch=batch)
            T.finalize_reducer(e, batch=max(1, m // 2))  # two at a time
            for i in T.Parallel(m):
                out[0, i] = a[i]
                out[1, i] = b[i]
                out[2, i] = c[i]
                out[3, i] = d[i]
                out[4, i] = e[i]

    return main
