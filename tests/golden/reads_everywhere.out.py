import tilelang.language as T


def build(rows, n):
    """Copies, parallel loops, thread-0 ifs, if tests, indices, atomics, calls: all of them."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, n), "int32"),
        V: T.Tensor((rows * n,), "float32"),
        out: T.Tensor((rows,), "float32"),
        peak: T.Tensor((1,), "int32"),
        total: T.Tensor((1,), "int32"),
        copied: T.Tensor((rows, 1), "int32"),
    ):
        with T.Kernel(rows, threads=64) as row:
            tx = T.get_thread_binding()
            acc = T.alloc_reducer((1,), "int32", op="max")
            acc_result = T.alloc_fragment((1,), "int32")
            T.reducer_init(acc)
            for j in T.Parallel(n):
                T.reducer_update(acc[0], X[row, j])
            T.finalize_reducer(acc, acc_result)
            if acc_result[0] > 0 and acc_result[0] < n:
                out[row] = V[acc_result[0] + row]
            elif acc_result[0] == 0:
                out[row] = V[T.max(acc_result[0], 0)]
            T.copy(acc_result, copied[row, :])
            doubled = acc_result[0] * 2
            if tx == 0:
                T.atomic_max(peak[0], acc_result[0])
                T.atomic_add(total[0], T.if_then_else(acc_result[0] > doubled, acc_result[0], doubled))

    return main
