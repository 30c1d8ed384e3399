"""Matrix-vector product: one sum per row of a tile, over a pipelined loop."""

import tilelang.language as T


def gemv(M, N, block_M=16, block_N=128, num_stages=2, dtype="float16", accum_dtype="float32"):
    @T.prim_func
    def main(
        A: T.Tensor((M, N), dtype),
        x: T.Tensor((N,), dtype),
        y: T.Tensor((M,), accum_dtype),
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bm:
            A_shared = T.alloc_shared((block_M, block_N), dtype)
            x_shared = T.alloc_shared((block_N,), dtype)
            acc = T.alloc_reducer((block_M,), accum_dtype, op="sum", replication="all")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(N, block_N), num_stages=num_stages):
                T.copy(A[bm * block_M, k * block_N], A_shared)
                T.copy(x[k * block_N], x_shared)
                for i, j in T.Parallel(block_M, block_N):
                    acc[i] += T.cast(A_shared[i, j], accum_dtype) * T.cast(x_shared[j], accum_dtype)
            T.finalize_reducer(acc)
            T.copy(acc, y[bm * block_M])

    return main
