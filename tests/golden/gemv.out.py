import tilelang
import tilelang.language as T


def gemv(M, K, block_M, block_K, dtype="float16", accum_dtype="float32"):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        x: T.Tensor((K,), dtype),
        y: T.Tensor((M,), accum_dtype),
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            x_shared = T.alloc_shared((block_K,), dtype)
            acc = T.alloc_reducer((block_M,), accum_dtype, op="sum")
            acc_result = T.alloc_fragment((block_M,), accum_dtype)
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[bx * block_M, k * block_K], A_shared)
                T.copy(x[k * block_K], x_shared)
                for i, j in T.Parallel(block_M, block_K):
                    T.reducer_update(acc[i], A_shared[i, j].astype(accum_dtype) * x_shared[j].astype(accum_dtype))
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * block_M : (bx + 1) * block_M])

    return main
