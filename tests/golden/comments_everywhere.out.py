import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer(  # the accumulator
                (1,),  # one
                "float32",
                # summed
                # everywhere
                op="sum",  # of course
            )  # done
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(  # open
                # with
                acc,  # nothing
                # into
            )  # opened
            for i in T.Parallel(n):  # loop
                # new
                # and
                T.reducer_update(acc[  # at
                    0
                ], (  # becomes
                    X[i]  # old
                ))  # so
            T.finalize_reducer(  # close
                # batch of one
                acc,  # acc
            acc_result)  # closed
            out[0] = acc_result[0]  # out

    return main
