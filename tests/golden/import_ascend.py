import tilelang.ascend.language as T


@T.prim_func
def total_of(X: T.Tensor((64,), "float32"), out: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=64):
        total = T.alloc_reducer((1), "float32", replication="all")
        T.clear(total)
        for j in T.Parallel(64):
            total[0] += X[j]
        T.finalize_reducer(total)
        out[0] = total[0]
