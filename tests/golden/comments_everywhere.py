import tilelang.language as T


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer(  # the accumulator
                (1,),  # one
                "float32",
                # summed
                replication="all",  # everywhere
                op="sum",  # of course
            )  # done
            T.fill(  # open
                # with
                value=0,  # nothing
                # into
                buffer=acc,
            )  # opened
            for i in T.Parallel(n):  # loop
                acc[  # at
                    0
                ] = (  # becomes
                    X[i]  # new
                    # and
                    + acc[0]  # old
                )  # so
            T.finalize_reducer(  # close
                # batch of one
                batch=1,
                reducer=acc,  # acc
            )  # closed
            out[0] = acc[0]  # out

    return main
