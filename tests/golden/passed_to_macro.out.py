import tilelang.language as T


@T.macro
def start(into):
    T.reducer_init(into)


@T.macro
def add(into, i, value):
    T.reducer_update(into[i], value)  # one contribution


@T.macro
def add_rows(S, into, rows, columns, scale=2):
    for i, j in T.Parallel(rows, columns):
        add(into, i, S[i, j] * scale)


@T.macro
def most(S, largest, columns):
    for j in T.Parallel(columns):
        T.reducer_update(largest[0], S[0, j])


def build(n, turns):
    @T.macro
    def less(S, from_):
        for i, j in T.Parallel(8, n):
            T.reducer_update(from_[i], -S[i, j])

    @T.prim_func
    def kernel(
        X: T.Tensor((8, n), "float32"),
        sums: T.Tensor((8,), "float32"),
        firsts: T.Tensor((2,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32")
            acc_result = T.alloc_fragment((8,), "float32")

            start(into=acc)
            for _ in T.serial(turns):
                add_rows(X, acc, 8, columns=n)
            add_rows(X, rows=8, columns=n, into=acc, scale=5)
            less(X, acc)
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, sums)
            left = T.alloc_reducer((1,), "float32", op="max")
            left_result = T.alloc_fragment((1,), "float32")
            right = T.alloc_reducer((1,), "float32", op="max")
            right_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(left)
            T.reducer_init(right, 3)
            most(X, left, n)
            most(X, right, n // 2)
            T.finalize_reducer(left, left_result)
            T.finalize_reducer(right, right_result)
            firsts[0] = left_result[0]
            firsts[1] = right_result[0]

    return kernel
