import tilelang.language as T


def build(n):
    """Reads in keyword arguments, augmented assignments and subscripts."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), "int32"), out: T.Tensor((8,), "int32"), copied: T.Tensor((8,), "int32")
    ):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((8,), "int32", replication="all")
            T.clear(acc)
            for j in T.Parallel(n):
                acc[(j + 1) % 8] += X[j] \
                    * 2
            T.finalize_reducer(reducer=acc, batch=1)
            T.copy(src=acc, dst=copied)
            out[acc[0] % 8] = acc[0] + acc[0]
            out[acc[0] % 8] += acc[0]
            T.print(acc[0], msg=f"of {n}")

    return main
