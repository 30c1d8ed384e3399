# The body of a kernel as documentation shows it: no function, no import.
acc = T.alloc_reducer((block_M,), "float32", op="sum", replication="all")
T.clear(acc)
for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
    T.copy(A[bx * block_M, k * block_K], A_shared)
    for i, j in T.Parallel(block_M, block_K):
        acc[i] += A_shared[i, j]
T.finalize_reducer(acc)
T.copy(acc, y[bx * block_M])
