import tilelang.language as T


def build(n, mode):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            match mode:
                case "sum":
                    for i in T.Parallel(n):
                        acc[0] += X[i]
                    T.finalize_reducer(acc)
                    out[0] = acc[0]
                case _:
                    out[0] = 0.0

    return main


def build_under_case(n, mode):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            match mode:
                case "sum":
                    T.clear(acc)
                    for i in T.Parallel(n):
                        acc[0] += X[i]
                    T.finalize_reducer(acc)
                    out[0] = acc[0]

    return main
