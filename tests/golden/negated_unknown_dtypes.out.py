import tilelang.language as T


def build(n, in_dtype, dtype):
    """A dtype that is a parameter may be unsigned, and then a value of it has no negation."""

    @T.prim_func
    def main(X: T.Tensor((n,), in_dtype), W: T.Tensor((n,), dtype), out: T.Tensor((2,), dtype)):
        with T.Kernel(1, threads=64):
            losses = T.alloc_reducer((2,), dtype)
            losses_result = T.alloc_fragment((2,), dtype)
            T.reducer_init(losses)
            for j in T.Parallel(n):
                T.reducer_update(losses[0], -T.cast(X[j], dtype))
                T.reducer_update(losses[1], -W[j])
            T.finalize_reducer(losses, losses_result)
            T.copy(losses_result, out)

    return main
