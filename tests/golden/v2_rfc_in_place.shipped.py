import reducer_compat
import tilelang.language as T


def build(m, n):
    """The RFC lets an epoch open by itself and close in place."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), out: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((m,), "float32", op="sum")
            acc_result = T.alloc_fragment((m,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(m, n):
                T.reducer_update(acc[i], X[i, j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, out)

    return main
