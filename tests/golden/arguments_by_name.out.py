import tilelang.language as T


def build(n):
    """Reads in keyword arguments, augmented assignments and subscripts."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), "int32"), out: T.Tensor((8,), "int32"), copied: T.Tensor((8,), "int32")
    ):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((8,), "int32")
            acc_result = T.alloc_fragment((8,), "int32")
            T.reducer_init(acc)
            for j in T.Parallel(n):
                T.reducer_update(acc[(j + 1) % 8], X[j] \
                    * 2)
            T.finalize_reducer(acc, acc_result)
            T.copy(src=acc_result, dst=copied)
            out[acc_result[0] % 8] = acc_result[0] + acc_result[0]
            out[acc_result[0] % 8] += acc_result[0]
            T.print(acc_result[0], msg=f"of {n}")

    return main
