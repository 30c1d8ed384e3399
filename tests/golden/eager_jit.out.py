import tilelang
import tilelang.language as T


@tilelang.jit
def total(X, out):
    n = T.const("n")
    X: T.Tensor[[n], T.float32]
    out: T.Tensor[[1], T.float32]
    with T.Kernel(1, threads=64):
        acc = T.alloc_reducer((1,), T.float32, op="sum")
        acc_result = T.alloc_fragment((1,), T.float32)
        T.reducer_init(acc)
        for j in T.Parallel(n):
            T.reducer_update(acc[0], X[j])
        T.finalize_reducer(acc, acc_result)
        out[0] = acc_result[0]
