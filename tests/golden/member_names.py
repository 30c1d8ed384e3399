"""Members of the language by other names, beside the language itself."""

import tilelang.language as T
from tilelang.language import Parallel as lanes, alloc_reducer as mk, clear as zero
from tilelang.language import copy as move
from tilelang.language import finalize_reducer as combine


def build(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            total = mk((1, ), 'float32', replication='all')  # kept
            zero(
                total,  # and this
            )
            for j in lanes(n):
                total[0] = total[0] + X[j]
            combine(total, batch=1)
            move(total, out)

    return main
