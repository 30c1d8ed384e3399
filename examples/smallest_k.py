"""The k smallest of each row, by k searches for the minimum: many epochs of one reducer."""

import tilelang.language as T


def smallest_k(M, N, k=4, dtype="float32"):
    @T.prim_func
    def main(
        values: T.Tensor((M, N), dtype),
        smallest: T.Tensor((M, k), dtype),
    ):
        with T.Kernel(M, threads=128) as row:
            left = T.alloc_fragment((N,), dtype)
            T.copy(values[row, 0], left)
            lowest = T.alloc_reducer((1,), dtype, op="min", replication="all")
            for step in T.serial(k):
                T.fill(lowest, T.infinity(dtype))
                for j in T.Parallel(N):
                    lowest[0] = T.min(lowest[0], left[j])
                T.finalize_reducer(lowest)
                for j in T.Parallel(N):
                    if left[j] <= lowest[0]:
                        left[j] = T.infinity(dtype)
                if T.get_thread_binding() == 0:
                    smallest[row, step] = lowest[0]

    return main
