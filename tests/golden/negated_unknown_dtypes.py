import tilelang.language as T


def build(n, in_dtype, dtype):
    """A dtype that is a parameter may be unsigned, and then a value of it has no negation."""

    @T.prim_func
    def main(X: T.Tensor((n,), in_dtype), W: T.Tensor((n,), dtype), out: T.Tensor((2,), dtype)):
        with T.Kernel(1, threads=64):
            losses = T.alloc_reducer((2,), dtype, replication="all")
            T.clear(losses)
            for j in T.Parallel(n):
                losses[0] -= X[j]
                losses[1] -= W[j]
            T.finalize_reducer(losses)
            T.copy(losses, out)

    return main
