import tilelang
import tilelang.language as T


@tilelang.jit
def total(n: int, dtype: str = "float32"):
    X: T.Tensor((n,), dtype)
    out: T.Tensor((1,), dtype)
    with T.Kernel(1, threads=64):
        acc = T.alloc_reducer((1,), dtype, op="sum", replication="all")
        T.fill(acc, 0)
        for j in T.Parallel(n):
            acc[0] += X[j]
        T.finalize_reducer(acc)
        out[0] = acc[0]
