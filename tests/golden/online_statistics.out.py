import tilelang.language as T


def build(rows, n, block):
    """Epochs per tile: alloc outside, fill and finalize in the serial loop, running values beside."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float16"), lse: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=64) as row:
            tile = T.alloc_fragment((block,), "float32")
            running = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            peak = T.alloc_reducer((1,), "float32", op="max")
            peak_result = T.alloc_fragment((1,), "float32")
            mass = T.alloc_reducer((1,), "float32", op="sum")
            mass_result = T.alloc_fragment((1,), "float32")
            T.fill(running, -1e30)
            T.clear(total)
            for k in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, k * block], tile)
                T.reducer_init(peak, running[0])
                T.reducer_init(mass)
                for j in T.Parallel(block):
                    T.reducer_update(peak[0], tile[j])
                T.finalize_reducer(peak, peak_result)
                for j in T.Parallel(block):
                    T.reducer_update(mass[0], T.exp(tile[j] - peak_result[0]))
                T.finalize_reducer(mass, mass_result)
                total[0] = total[0] * T.exp(running[0] - peak_result[0]) + mass_result[0]
                running[0] = peak_result[0]
            lse[row] = T.log(total[0]) + running[0]

    return main
