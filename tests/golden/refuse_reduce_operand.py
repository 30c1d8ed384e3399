import tilelang.language as T


def build(n):
    """An operand of another reduction."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"),
        W: T.Tensor((1,), "float32"),
        out: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(1, threads=64) as block:
            frag = T.alloc_fragment((1, n), "float32")
            acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
            T.fill(acc, 0)
            T.reduce_max(frag, acc, dim=1, clear=False)
            T.finalize_reducer(acc)
            out[0] = acc[0]

    return main
