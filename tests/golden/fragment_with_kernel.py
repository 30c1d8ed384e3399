with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
    acc = T.alloc_reducer(block_M, T.float32, "max", replication="all")
    T.fill(acc, 0)
    for i, j in T.Parallel(block_M, block_K):
        acc[i] = T.max(acc[i], T.abs(A[bx * block_M + i, j]))
    T.finalize_reducer(acc)
    for i in T.Parallel(block_M):
        y[bx * block_M + i] = acc[i]
