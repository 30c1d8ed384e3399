import tilelang.language as T


def sum_smaller_probs(batch, vocab):
    @T.prim_func
    def main(
        probs: T.Tensor((batch, vocab), "float32"),
        threshold: T.Tensor((batch,), "float32"),
        mass: T.Tensor((batch,), "float32"),
        count: T.Tensor((batch,), "int64"),
    ):
        with T.Kernel(batch, threads=128) as b:
            pivot = threshold[b]
            sum_smaller = T.alloc_reducer((1,), "float32", "sum", "all")
            num_smaller = T.alloc_reducer((1,), "int64", "sum", replication="all")
            T.clear(sum_smaller)
            T.clear(num_smaller)
            for j in T.Parallel(vocab):
                p = probs[b, j]
                if p > 0:
                    if p < pivot:
                        sum_smaller[0] += p
                num_smaller[0] += p < pivot
            T.finalize_reducer(sum_smaller)
            T.finalize_reducer(num_smaller)
            if T.get_thread_binding() == 0:
                mass[b] = sum_smaller[0]
                count[b] = num_smaller[0]

    return main
