from tilelang.language import *


def build(n):
    @prim_func
    def main(X: Tensor((n,), "float32"), out: Tensor((1,), "float32")):
        with Kernel(1, threads=64):
            worst = alloc_reducer((1,), "float32", "max", replication="all")
            clear(worst)
            for j in Parallel(n):
                worst[0] = max(X[j], worst[0])
            finalize_reducer(worst)
            copy(worst, out)

    return main
