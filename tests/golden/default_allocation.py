import tilelang.language as T


def build(n):
    """No replication argument: the statements that follow tell v1 from v2."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            old = T.alloc_reducer((1,), "float32", op="max")
            new = T.alloc_reducer((1,), "float32", op="max")
            seen = T.alloc_fragment((1,), "float32")
            T.fill(old, T.min_value("float32"))
            T.reducer_init(new)
            for j in T.Parallel(n):
                old[0] = T.max(old[0], X[j])
                T.reducer_update(new[0], X[j])
            T.finalize_reducer(old)
            T.finalize_reducer(new, seen)
            out[0] = old[0]
            out[1] = seen[0]

    return main
