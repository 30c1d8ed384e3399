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
            acc = tll.alloc_reducer((1,), "float32")
            acc_result = tll.alloc_fragment((1,), "float32")
            tll.reducer_init(acc)
            for j in tll.Parallel(n):
                tll.reducer_update(acc[0], X[j])
            tll.finalize_reducer(acc, acc_result)
            out[0] = acc_result[0]

    return main
