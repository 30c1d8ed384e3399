import tilelang.language as T


def absmax_quant(groups, group_size, rows):
    @T.prim_func
    def main(
        X: T.Tensor((groups, rows, group_size), "float16"),
        Q: T.Tensor((groups, rows, group_size), "int8"),
        S: T.Tensor((groups, rows), "float32"),
    ):
        with T.Kernel(groups, threads=128) as g:
            x = T.alloc_fragment((rows, group_size), "float32")
            amax = T.alloc_reducer((rows,), "float32", op="max")
            amax_result = T.alloc_fragment((rows,), "float32")
            T.reducer_init(amax, 0)  # never divide by less than what we saw
            T.copy(X[g, 0:rows, 0:group_size], x)
            for i, j in T.Parallel(rows, group_size):
                T.reducer_update(amax[i], T.abs(x[i, j]))
            T.finalize_reducer(amax, amax_result)
            for i, j in T.Parallel(rows, group_size):
                Q[g, i, j] = T.cast(x[i, j] * 127.0 / T.max(amax_result[i], 1e-8), "int8")
            T.copy(amax_result, S[g, 0:rows])

    return main
