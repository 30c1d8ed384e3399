import tilelang.language as T


def build(rows, n, block):
    """Epochs per tile: alloc outside, fill and finalize in the serial loop, running values beside."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float16"), lse: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=64) as row:
            tile = T.alloc_fragment((block,), "float32")
            running = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            peak = T.alloc_reducer((1,), "float32", op="max", replication="all")
            mass = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.fill(running, -1e30)
            T.clear(total)
            for k in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, k * block], tile)
                T.fill(peak, running[0])
                T.clear(mass)
                for j in T.Parallel(block):
                    peak[0] = T.max(peak[0], tile[j])
                T.finalize_reducer(peak)
                for j in T.Parallel(block):
                    mass[0] += T.exp(tile[j] - peak[0])
                T.finalize_reducer(mass)
                total[0] = total[0] * T.exp(running[0] - peak[0]) + mass[0]
                running[0] = peak[0]
            lse[row] = T.log(total[0]) + running[0]

    return main
