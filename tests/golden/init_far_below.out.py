import tilelang.language as T


def build(n):
    """The fill stands far below the allocation, after statements that have nothing to do with it."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=64):
            total_frag = T.alloc_reducer((1,), T.float32, op="sum")
            total_frag_result = T.alloc_fragment((1,), T.float32)
            row = T.alloc_shared((n,), T.float32)
            T.copy(X, row)
            for j in T.Parallel(n):
                row[j] = row[j] * 2

            # now the sum
            T.reducer_init(total_frag)
            for j in T.Parallel(n):
                T.reducer_update(total_frag[0], row[j])
            T.finalize_reducer(total_frag, total_frag_result)
            for j in T.Parallel(n):
                out[j] = row[j] / total_frag_result[0]

    return main
