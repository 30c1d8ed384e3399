import tilelang.language as T


def build(n, op):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", op)
            acc_result = T.alloc_fragment((1,), "float32")
            match op:
                case "sum":
                    T.reducer_init(acc, 0)
                case "max":
                    T.reducer_init(acc, -T.infinity("float32"))
                case _:
                    T.reducer_init(acc, T.infinity("float32"))
            for i in T.Parallel(n):
                match op:
                    case "sum":
                        T.reducer_update(acc[0], X[i])
                    case "max":
                        T.reducer_update(acc[0], X[i])
                    case _:
                        T.reducer_update(acc[0], X[i])
            T.finalize_reducer(acc, acc_result)
            out[0] = acc_result[0]

    return main
