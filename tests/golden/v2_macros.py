import tilelang.language as T


@T.macro
def row_reduce(reducer, result, S, rows, columns):
    T.reducer_init(reducer)
    for i, j in T.Parallel(rows, columns):
        T.reducer_update(reducer[i], S[i, j])
    T.finalize_reducer(reducer, result)


@T.macro
def twice(reducer, S, rows, columns):
    for k in T.serial(2):
        update(S, reducer, rows, columns)


@T.macro
def update(S, reducer, rows, columns):
    for i, j in T.Parallel(rows, columns):
        T.reducer_update(reducer[i], S[i, j])


def build(n):
    @T.prim_func
    def kernel(
        X: T.Tensor((16, n), "float32"),
        sums: T.Tensor((16,), "float32"),
        tops: T.Tensor((16,), "float32"),
        more: T.Tensor((16,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((16, n), "float32")
            total = T.alloc_reducer((16,), "float32")
            top = T.alloc_reducer((16,), "float32", op="max")
            third = T.alloc_reducer((16,), "float32")
            one = T.alloc_fragment((16,), "float32")
            two = T.alloc_fragment((16,), "float32")
            three = T.alloc_fragment((16,), "float32")
            T.copy(X, S)
            row_reduce(total, one, S, 16, n)
            row_reduce(top, two, S, rows=16, columns=n)

            T.reducer_init(third)
            twice(third, S, 16, n)
            T.finalize_reducer(third, three)
            T.copy(one, sums)
            T.copy(two, tops)
            T.copy(three, more)

    return kernel
