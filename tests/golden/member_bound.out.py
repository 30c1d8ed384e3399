import tilelang.language as T

try:
    from tilelang.language import alloc_reducer as allocate
except ImportError:
    allocate = None
lang = T
opening, closing = lang.clear, T.finalize_reducer


def build(n):
    lanes = T.Parallel

    @T.prim_func
    def main(X: T.Tensor((n,), "int32"), out: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=64):
            total = allocate((1,), "int32")
            total_result = T.alloc_fragment((1,), "int32")
            T.reducer_init(total)
            for j in lanes(n):
                T.reducer_update(total[0], -X[j])
            closing(total, total_result)
            T.copy(total_result, out)

    return main
