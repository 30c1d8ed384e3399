    acc = T.alloc_reducer((1,), "float32", replication="all")
    T.clear(acc)
    for j in T.Parallel(n):
        acc[0] += X[j]
    T.finalize_reducer(acc)
    out[0] = acc[0]
