import tilelang.language as T


@T.macro
def start(into):
    T.clear(into)


@T.macro
def add(into, i, value):
    into[i] += value  # one contribution


@T.macro
def add_rows(S, into, rows, columns, scale=2):
    for i, j in T.Parallel(rows, columns):
        add(into, i, S[i, j] * scale)


@T.macro
def most(S, largest, columns):
    for j in T.Parallel(columns):
        largest[0] = T.max(S[0, j], largest[0])


def build(n, turns):
    @T.macro
    def less(S, from_):
        for i, j in T.Parallel(8, n):
            from_[i] -= S[i, j]

    @T.prim_func
    def kernel(
        X: T.Tensor((8, n), "float32"),
        sums: T.Tensor((8,), "float32"),
        firsts: T.Tensor((2,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32", replication="all")

            start(into=acc)
            for _ in T.serial(turns):
                add_rows(X, acc, 8, columns=n)
            add_rows(X, rows=8, columns=n, into=acc, scale=5)
            less(X, acc)
            T.finalize_reducer(acc)
            T.copy(acc, sums)
            left = T.alloc_reducer((1,), "float32", op="max", replication="all")
            right = T.alloc_reducer((1,), "float32", op="max", replication="all")
            T.fill(left, -T.infinity("float32"))
            T.fill(right, 3)
            most(X, left, n)
            most(X, right, n // 2)
            T.finalize_reducer(left)
            T.finalize_reducer(right)
            firsts[0] = left[0]
            firsts[1] = right[0]

    return kernel
