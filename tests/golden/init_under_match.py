import tilelang.language as T


def build(n, op):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", op, replication="all")
            match op:
                case "sum":
                    T.clear(acc)
                case "max":
                    T.fill(acc, -T.infinity("float32"))
                case _:
                    T.fill(acc, T.infinity("float32"))
            for i in T.Parallel(n):
                match op:
                    case "sum":
                        acc[0] += X[i]
                    case "max":
                        acc[0] = T.max(acc[0], X[i])
                    case _:
                        acc[0] = T.min(acc[0], X[i])
            T.finalize_reducer(acc)
            out[0] = acc[0]

    return main
