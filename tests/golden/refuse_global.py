import tilelang.language as T

acc = None


@T.macro
def total(X, out, n):
    """Other functions may read the name, and would read the reducer instead of its result."""
    global acc
    acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
    T.clear(acc)
    for j in T.Parallel(n):
        acc[0] += X[j]
    T.finalize_reducer(acc)
    out[0] = acc[0]


@T.macro
def again(out):
    out[1] = acc[0]
