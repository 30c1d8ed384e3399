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
            sum_smaller = T.alloc_reducer((1,), "float32", "sum")
            sum_smaller_result = T.alloc_fragment((1,), "float32")
            num_smaller = T.alloc_reducer((1,), "int64", "sum")
            num_smaller_result = T.alloc_fragment((1,), "int64")
            T.reducer_init(sum_smaller)
            T.reducer_init(num_smaller)
            for j in T.Parallel(vocab):
                p = probs[b, j]
                if p > 0:
                    if p < pivot:
                        T.reducer_update(sum_smaller[0], p)
                T.reducer_update(num_smaller[0], p < pivot)
            T.finalize_reducer(sum_smaller, sum_smaller_result)
            T.finalize_reducer(num_smaller, num_smaller_result)
            if T.get_thread_binding() == 0:
                mass[b] = sum_smaller_result[0]
                count[b] = num_smaller_result[0]

    return main
