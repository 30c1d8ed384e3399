with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
    acc = T.alloc_reducer(block_M, T.float32, "max")
    acc_result = T.alloc_fragment(block_M, T.float32)
    T.reducer_init(acc, 0)
    for i, j in T.Parallel(block_M, block_K):
        T.reducer_update(acc[i], T.abs(A[bx * block_M + i, j]))
    T.finalize_reducer(acc, acc_result)
    for i in T.Parallel(block_M):
        y[bx * block_M + i] = acc_result[i]
