"""One int8 scale per group of a row: the largest absolute value, never below a floor."""

import tilelang.language as T


def quantization_scale(M, N, group=128, block_M=8, floor=1e-4, dtype="float16"):
    @T.prim_func
    def main(
        x: T.Tensor((M, N), dtype),
        scale: T.Tensor((M, N // group), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, block_M), N // group, threads=128) as (bm, bg):
            tile = T.alloc_fragment((block_M, group), dtype)
            T.copy(x[bm * block_M, bg * group], tile)

            amax = T.alloc_reducer((block_M,), "float32", op="max", replication="all")
            T.fill(amax, floor)  # not the identity of max: it is part of the result
            for i, j in T.Parallel(block_M, group):
                amax[i] = T.max(amax[i], T.abs(T.cast(tile[i, j], "float32")))
            T.finalize_reducer(amax)

            for i in T.Parallel(block_M):
                scale[bm * block_M + i, bg] = amax[i] / 127.0

    return main
