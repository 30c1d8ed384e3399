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
            grid = T.alloc_reducer((m, n), "float32")
            grid_result = T.alloc_fragment((m, n), "float32")
            named = T.alloc_reducer(shape, "float32")
            named_result = T.alloc_fragment(shape, "float32")
            bare = T.alloc_reducer(1, "float32")
            bare_result = T.alloc_fragment(1, "float32")
            spread = T.alloc_reducer(
                (m,),  # one a row
                "float32",
                op="max",
            )
            spread_result = T.alloc_fragment((m,), "float32")
            T.reducer_init(grid)
            T.reducer_init(named)
            T.reducer_init(bare)
            T.reducer_init(spread)
            for i, j, k in T.Parallel(m, n, 16):
                T.reducer_update(grid[i, j], X[i, j, k])
                T.reducer_update(named[i, j], X[i, j, k] * 2)
                T.reducer_update(bare[0], X[i, j, k])
                T.reducer_update(spread[i], X[i, j, k])
            T.finalize_reducer(grid, grid_result)
            T.finalize_reducer(named, named_result)
            T.finalize_reducer(bare, bare_result)
            T.finalize_reducer(spread, spread_result)
            T.copy(grid_result, two)
            T.copy(named_result, again)
            T.copy(bare_result, one)
            T.copy(spread_result, more)

    return main
