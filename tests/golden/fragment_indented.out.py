    acc = T.alloc_reducer((1,), "float32")
    acc_result = T.alloc_fragment((1,), "float32")
    T.reducer_init(acc)
    for j in T.Parallel(n):
        T.reducer_update(acc[0], X[j])
    T.finalize_reducer(acc, acc_result)
    out[0] = acc_result[0]
