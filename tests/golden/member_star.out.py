from tilelang.language import *


def build(n):
    @prim_func
    def main(X: Tensor((n,), "float32"), out: Tensor((1,), "float32")):
        with Kernel(1, threads=64):
            worst = alloc_reducer((1,), "float32", "max")
            worst_result = alloc_fragment((1,), "float32")
            reducer_init(worst, 0)
            for j in Parallel(n):
                reducer_update(worst[0], X[j])
            finalize_reducer(worst, worst_result)
            copy(worst_result, out)

    return main
