import tilelang.language as T


@T.macro
def start(into):
    T.clear(into)


@T.macro
def negated(into, S):
    for i in T.Parallel(64):
        into[0] -= S[i]


@T.macro
def close(into):
    T.finalize_reducer(into)


@T.macro
def anything(into, S):
    for i in T.Parallel(64):
        into[0] += S[i]


@T.macro
def itself(into, S, left):
    for i in T.Parallel(64):
        into[0] += S[i]
    if left > 0:
        itself(into, S, left - 1)


@T.macro
def many(*everything):
    T.clear(everything[0])


@T.macro
def most(into, S):
    for i in T.Parallel(64):
        into[0] = T.max(into[0], S[i])


@T.macro
def cast(into, flags, dtype):
    for i in T.Parallel(64):
        into[0] -= flags[i] > 0


def build(dtype):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), N: T.Tensor((64,), "uint8"), out: T.Tensor((9,))):
        with T.Kernel(1, threads=128):
            low = T.alloc_reducer((1,), "int32", replication="all")
            high = T.alloc_reducer((1,), "float32", "max", replication="all")
            start(low)
            start(high)
            for i in T.Parallel(64):
                low[0] += N[i]
                high[0] = T.max(high[0], X[i])
            T.finalize_reducer(low)
            T.finalize_reducer(high)

            signed = T.alloc_reducer((1,), "float32", replication="all")
            small = T.alloc_reducer((1,), "int32", replication="all")
            T.clear(signed)
            T.clear(small)
            negated(signed, X)
            negated(small, N)
            T.finalize_reducer(signed)
            T.finalize_reducer(small)

            closed = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(closed)
            for i in T.Parallel(64):
                closed[0] += X[i]
            close(closed)
            out[0] = closed[0]

            shared = T.alloc_reducer((1,), "float32", replication="all")
            plain = T.alloc_fragment((1,), "float32")
            T.clear(shared)
            anything(shared, X)
            anything(plain, X)
            T.finalize_reducer(shared)

            again = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(again)
            itself(again, X, 2)
            T.finalize_reducer(again)

            unpacked = T.alloc_reducer((1,), "float32", replication="all")
            many(unpacked)
            T.finalize_reducer(unpacked)

            right = T.alloc_reducer((1,), "float32", "max", replication="all")
            wrong = T.alloc_reducer((1,), "float32", replication="all")
            T.fill(right, -T.infinity("float32"))
            T.clear(wrong)
            most(right, X)
            most(wrong, X)
            T.finalize_reducer(right)
            T.finalize_reducer(wrong)

            typed = T.alloc_reducer((1,), dtype, replication="all")
            T.clear(typed)
            cast(typed, N, "int32")
            T.finalize_reducer(typed)

    return kernel
