import tilelang.language as T


def build(n):
    """How many threads contribute is anybody's guess."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"),
        W: T.Tensor((1,), "float32"),
        out: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(1, threads=64) as block:
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for k in T.serial(n):
                acc[0] += X[k]
            T.finalize_reducer(acc)
            out[0] = acc[0]

    return main
