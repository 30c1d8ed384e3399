import tilelang.language as T


def build(n):
    """TVM has no negation of unsigned values: what is subtracted goes in from 0."""

    @T.prim_func
    def main(C: T.Tensor((n,), "uint32"), D: T.Tensor((n,), "uint8"), out: T.Tensor((3,), "uint32")):
        with T.Kernel(1, threads=64):
            left = T.alloc_reducer((3,), "uint32", replication="all")
            T.clear(left)
            for j in T.Parallel(n):
                left[0] -= C[j]
                left[1] -= D[j]
                left[2] = left[2] - C[j]
            T.finalize_reducer(left)
            T.copy(left, out)

    return main
