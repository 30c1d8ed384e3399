"""Triton owns `tl` here; TileLang arrives under another name."""

import tilelang as tilel
import tilelang.language as tll

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


def triton_body(x_ptr, n):
    acc = tl.zeros((1,), dtype=tl.float32)
    acc += tl.load(x_ptr)
    return acc


def build(n):
    @tll.prim_func
    def main(X: tll.Tensor((n,), "float32"), out: tll.Tensor((1,), "float32")):
        with tll.Kernel(1, threads=64):
            acc = tll.alloc_reducer((1,), "float32", replication="all")
            tll.clear(acc)
            for j in tll.Parallel(n):
                acc[0] += X[j]
            tll.finalize_reducer(acc)
            out[0] = acc[0]

    return main
