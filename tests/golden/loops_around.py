import tilelang.language as T


def build(steps, n):
    """The parallel loop sits in pipelined, serial, unrolled, range and while loops."""

    @T.prim_func
    def main(X: T.Tensor((steps, n), "float32"), out: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            X_shared = T.alloc_shared((n,), "float32")
            a = T.alloc_reducer((8,), "float32", replication="all")
            T.clear(a)
            for k in T.Pipelined(steps, num_stages=2):
                T.copy(X[k, 0:n], X_shared)
                for j in T.Parallel(n):
                    a[0] += X_shared[j]
            for k in T.serial(steps):
                for j in T.Parallel(n):
                    a[1] += X[k, j]
            for k in T.unroll(steps):
                for j in T.Parallel(n):
                    a[k] += X[k, j]
            for k in range(steps):
                for j in T.Parallel(n):
                    a[k + 4] += X[k, j]
            w = T.alloc_var("int32", init=0)
            while w < steps:
                for j in T.Parallel(n):
                    a[7] += X[w, j]
                w = w + 1
            T.finalize_reducer(a)
            T.copy(a, out)

    return main
