import tilelang.language as T

N = 64
ACC = "float32"


@T.prim_func
def main(X: T.Tensor((N,), "float16"), out: T.Tensor((1,), ACC)):
    with T.Kernel(1, threads=64):
        acc_shared = T.alloc_reducer((1,), ACC, op="sum", replication="all")
        T.clear(acc_shared)
        for j in T.Parallel(N):
            acc_shared[0] += T.cast(X[j], ACC)
        T.finalize_reducer(acc_shared)
        T.copy(acc_shared, out)
