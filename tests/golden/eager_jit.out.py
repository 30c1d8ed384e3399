import tilelang
import tilelang.language as T


@tilelang.jit
def total(n: int, dtype: str = "float32"):
    X: T.Tensor((n,), dtype)
    out: T.Tensor((1,), dtype)
    with T.Kernel(1, threads=64):
        acc = T.alloc_reducer((1,), dtype, op="sum")
        acc_result = T.alloc_fragment((1,), dtype)
        T.reducer_init(acc)
        for j in T.Parallel(n):
            T.reducer_update(acc[0], X[j])
        T.finalize_reducer(acc, acc_result)
        out[0] = acc_result[0]
