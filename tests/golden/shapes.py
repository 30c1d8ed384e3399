import tilelang.language as T


def shapes(m, n):
    shape = (m, n)

    @T.prim_func
    def main(
        X: T.Tensor((m, n, 16), "float32"),
        two: T.Tensor((m, n), "float32"),
        again: T.Tensor((m, n), "float32"),
        one: T.Tensor((1,), "float32"),
        more: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            grid = T.alloc_reducer((m, n), "float32", replication="all")
            named = T.alloc_reducer(shape, "float32", replication="all")
            bare = T.alloc_reducer(1, "float32", replication="all")
            spread = T.alloc_reducer(
                (m,),  # one a row
                "float32",
                op="max",
                replication="all",
            )
            T.clear(grid)
            T.clear(named)
            T.clear(bare)
            T.fill(spread, -T.infinity("float32"))
            for i, j, k in T.Parallel(m, n, 16):
                grid[i, j] += X[i, j, k]
                named[i, j] = named[i, j] + X[i, j, k] * 2
                bare[0] += X[i, j, k]
                spread[i] = T.max(spread[i], X[i, j, k])
            T.finalize_reducer(grid)
            T.finalize_reducer(named)
            T.finalize_reducer(bare)
            T.finalize_reducer(spread)
            T.copy(grid, two)
            T.copy(named, again)
            T.copy(bare, one)
            T.copy(spread, more)

    return main
