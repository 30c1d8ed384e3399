"""The maximum of each row and the sum of its exponentials, as a softmax needs them."""

import tilelang.language as T


def softmax_statistics(M, N, block_M=4, dtype="float32"):
    @T.prim_func
    def main(
        logits: T.Tensor((M, N), dtype),
        row_max: T.Tensor((M,), dtype),
        row_sum: T.Tensor((M,), dtype),
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bm:
            tile = T.alloc_fragment((block_M, N), dtype)
            T.copy(logits[bm * block_M, 0], tile)

            highest = T.alloc_reducer((block_M,), dtype, op="max", replication="all")
            T.fill(highest, -T.infinity(dtype))
            for i, j in T.Parallel(block_M, N):
                highest[i] = T.max(highest[i], tile[i, j])
            T.finalize_reducer(highest)

            # The second reducer reads the first one, which is final by now.
            total = T.alloc_reducer((block_M,), dtype, op="sum", replication="all")
            T.clear(total)
            for i, j in T.Parallel(block_M, N):
                total[i] += T.exp(tile[i, j] - highest[i])
            T.finalize_reducer(total)

            T.copy(highest, row_max[bm * block_M])
            T.copy(total, row_sum[bm * block_M])

    return main
