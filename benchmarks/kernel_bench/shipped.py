"""The benchmark kernels in v1 syntax, as TileLang to 0.1.13 lowers them by itself.

`shipped.py` is this file after `reducer-migrate`: change a kernel here and run it again.
"""

import tilelang.language as T


def gemv_shared(m, k, bm, bk, threads, dtype):
    """`A @ x`, tiles of (bm, bk) streamed through shared memory."""

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), x: T.Tensor((k,), dtype), y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bk), dtype)
            x_s = T.alloc_shared((bk,), dtype)
            acc = T.alloc_reducer((bm,), "float32", op="sum")
            acc_result = T.alloc_fragment((bm,), "float32")
            T.reducer_init(acc)
            for kt in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[bx * bm, kt * bk], A_s)
                T.copy(x[kt * bk], x_s)
                for i, j in T.Parallel(bm, bk):
                    T.reducer_update(acc[i], A_s[i, j].astype("float32") * x_s[j].astype("float32"))
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * bm])

    return main


def gemv_fragment(m, k, bm, bk, threads, dtype):
    """`A @ x`, the tiles copied on from shared memory to registers."""

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), x: T.Tensor((k,), dtype), y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bk), dtype)
            x_s = T.alloc_shared((bk,), dtype)
            A_f = T.alloc_fragment((bm, bk), dtype)
            x_f = T.alloc_fragment((bk,), dtype)
            acc = T.alloc_reducer((bm,), "float32", op="sum")
            acc_result = T.alloc_fragment((bm,), "float32")
            T.reducer_init(acc)
            for kt in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[bx * bm, kt * bk], A_s)
                T.copy(x[kt * bk], x_s)
                T.copy(A_s, A_f)
                T.copy(x_s, x_f)
                for i, j in T.Parallel(bm, bk):
                    T.reducer_update(acc[i], A_f[i, j].astype("float32") * x_f[j].astype("float32"))
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * bm])

    return main


def gemv_16bit(m, k, bm, bk, threads, dtype):
    """`A @ x` accumulated in the 16-bit dtype itself."""

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), x: T.Tensor((k,), dtype), y: T.Tensor((m,), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bk), dtype)
            x_s = T.alloc_shared((bk,), dtype)
            A_f = T.alloc_fragment((bm, bk), dtype)
            x_f = T.alloc_fragment((bk,), dtype)
            acc = T.alloc_reducer((bm,), dtype, op="sum")
            acc_result = T.alloc_fragment((bm,), dtype)
            T.reducer_init(acc)
            for kt in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[bx * bm, kt * bk], A_s)
                T.copy(x[kt * bk], x_s)
                T.copy(A_s, A_f)
                T.copy(x_s, x_f)
                for i, j in T.Parallel(bm, bk):
                    T.reducer_update(acc[i], A_f[i, j] * x_f[j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * bm])

    return main


def row_sum_global(m, n, bm, bn, threads, dtype):
    """Row sums, operands straight from global memory."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            acc = T.alloc_reducer((bm,), "float32", op="sum")
            acc_result = T.alloc_fragment((bm,), "float32")
            T.reducer_init(acc)
            for k in T.serial(T.ceildiv(n, bn)):
                for i, j in T.Parallel(bm, bn):
                    T.reducer_update(acc[i], A[bx * bm + i, k * bn + j].astype("float32"))
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * bm])

    return main


def row_sum_shared(m, n, bm, bn, threads, dtype):
    """Row sums, tiles streamed through shared memory."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bn), dtype)
            acc = T.alloc_reducer((bm,), "float32", op="sum")
            acc_result = T.alloc_fragment((bm,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(n, bn), num_stages=2):
                T.copy(A[bx * bm, k * bn], A_s)
                for i, j in T.Parallel(bm, bn):
                    T.reducer_update(acc[i], A_s[i, j].astype("float32"))
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * bm])

    return main


def row_max_shared(m, n, bm, bn, threads, dtype):
    """Row maxima, tiles streamed through shared memory, in the dtype of the input."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), y: T.Tensor((m,), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bn), dtype)
            acc = T.alloc_reducer((bm,), dtype, op="max")
            acc_result = T.alloc_fragment((bm,), dtype)
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(n, bn), num_stages=2):
                T.copy(A[bx * bm, k * bn], A_s)
                for i, j in T.Parallel(bm, bn):
                    T.reducer_update(acc[i], A_s[i, j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * bm])

    return main


def softmax_statistics(m, n, bm, threads, dtype):
    """Row maximum and sum of exponentials; the second reads the first."""

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        peak: T.Tensor((m,), "float32"),
        total: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            row = T.alloc_fragment((bm, n), dtype)
            top = T.alloc_reducer((bm,), "float32", op="max")
            top_result = T.alloc_fragment((bm,), "float32")
            mass = T.alloc_reducer((bm,), "float32", op="sum")
            mass_result = T.alloc_fragment((bm,), "float32")
            T.copy(X[bx * bm, 0], row)
            T.reducer_init(top)
            T.reducer_init(mass)
            for i, j in T.Parallel(bm, n):
                T.reducer_update(top[i], row[i, j].astype("float32"))
            T.finalize_reducer(top, top_result)
            for i, j in T.Parallel(bm, n):
                T.reducer_update(mass[i], T.exp(row[i, j].astype("float32") - top_result[i]))
            T.finalize_reducer(mass, mass_result)
            T.copy(top_result, peak[bx * bm])
            T.copy(mass_result, total[bx * bm])

    return main


def rmsnorm_forward(m, n, threads, dtype):
    """RMSNorm, one token a block."""

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), W: T.Tensor((n,), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m, threads=threads) as token:
            row = T.alloc_fragment((n,), "float32")
            square = T.alloc_reducer((1,), "float32", op="sum")
            square_result = T.alloc_fragment((1,), "float32")
            T.copy(X[token, 0:n], row)
            T.reducer_init(square)
            for j in T.Parallel(n):
                T.reducer_update(square[0], row[j] * row[j])
            T.finalize_reducer(square, square_result)
            for j in T.Parallel(n):
                Y[token, j] = T.cast(
                    row[j] * T.rsqrt(square_result[0] / n + 1e-6) * W[j].astype("float32"), dtype
                )

    return main


def rmsnorm_backward(m, n, split, bm, bn, threads, dtype):
    """The weight gradient of RMSNorm over `m // split` tokens a block: a column sum."""

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        dY: T.Tensor((m, n), dtype),
        rstd: T.Tensor((m,), "float32"),
        dW: T.Tensor((split, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, bn), split, threads=threads) as (bx, by):
            X_s = T.alloc_shared((bm, bn), dtype)
            dY_s = T.alloc_shared((bm, bn), dtype)
            r_s = T.alloc_shared((bm,), "float32")
            acc = T.alloc_reducer((bn,), "float32", op="sum")
            acc_result = T.alloc_fragment((bn,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(m // split // bm, num_stages=2):
                T.copy(X[by * (m // split) + k * bm, bx * bn], X_s)
                T.copy(dY[by * (m // split) + k * bm, bx * bn], dY_s)
                T.copy(rstd[by * (m // split) + k * bm], r_s)
                for i, j in T.Parallel(bm, bn):
                    T.reducer_update(acc[j], X_s[i, j].astype("float32") * dY_s[i, j].astype("float32") * r_s[i])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, dW[by, bx * bn])

    return main


def absmax_scale(m, group, bm, threads, dtype):
    """The scale of int8 quantization, one for each group."""

    @T.prim_func
    def main(X: T.Tensor((m, group), dtype), S: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            x = T.alloc_fragment((bm, group), dtype)
            scale = T.alloc_fragment((bm,), "float32")
            peak = T.alloc_reducer((bm,), "float32", op="max")
            peak_result = T.alloc_fragment((bm,), "float32")
            T.copy(X[bx * bm, 0], x)
            T.reducer_init(peak, 0)
            for i, j in T.Parallel(bm, group):
                T.reducer_update(peak[i], T.abs(x[i, j].astype("float32")))
            T.finalize_reducer(peak, peak_result)
            for i in T.Parallel(bm):
                scale[i] = peak_result[i] / 127.0
            T.copy(scale, S[bx * bm])

    return main


def smallest(m, n, k, threads):
    """The `k` smallest of each row: many epochs of one reducer."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), out: T.Tensor((m, k), "float32")):
        with T.Kernel(m, threads=threads) as row:
            left = T.alloc_fragment((n,), "float32")
            best = T.alloc_reducer((1,), "float32", op="min")
            best_result = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0:n], left)
            for step in T.serial(k):
                T.reducer_init(best)
                for j in T.Parallel(n):
                    T.reducer_update(best[0], left[j])
                T.finalize_reducer(best, best_result)
                out[row, step] = best_result[0]
                for j in T.Parallel(n):
                    if left[j] == best_result[0]:
                        left[j] = T.infinity("float32")

    return main


def outer_product(blocks, k, bk, threads):
    """`A.T @ B` of matrices with 4 columns, `k` rows a block: every thread sees every output."""

    @T.prim_func
    def main(
        A: T.Tensor((blocks * k, 4), "float32"),
        B: T.Tensor((blocks * k, 4), "float32"),
        C: T.Tensor((blocks, 4, 4), "float32"),
    ):
        with T.Kernel(blocks, threads=threads) as bx:
            acc = T.alloc_reducer((4, 4), "float32", op="sum")
            acc_result = T.alloc_fragment((4, 4), "float32")
            T.reducer_init(acc)
            for kt in T.serial(k // bk):
                for r, i, j in T.Parallel(bk, 4, 4):
                    T.reducer_update(acc[i, j], A[bx * k + kt * bk + r, i] * B[bx * k + kt * bk + r, j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, C[bx, :, :])

    return main


def two_widths(m, bm, threads):
    """One reducer, two sites of widths 8 and 16."""

    @T.prim_func
    def main(
        A: T.Tensor((m, 8), "float32"),
        B: T.Tensor((m, 16), "float32"),
        y: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            narrow = T.alloc_fragment((bm, 8), "float32")
            broad = T.alloc_fragment((bm, 16), "float32")
            acc = T.alloc_reducer((bm,), "float32", op="sum")
            acc_result = T.alloc_fragment((bm,), "float32")
            T.copy(A[bx * bm, 0], narrow)
            T.copy(B[bx * bm, 0], broad)
            T.reducer_init(acc)
            for i, j in T.Parallel(bm, 8):
                T.reducer_update(acc[i], narrow[i, j])
            for i, j in T.Parallel(bm, 16):
                T.reducer_update(acc[i], broad[i, j])
            T.finalize_reducer(acc, acc_result)
            T.copy(acc_result, y[bx * bm])

    return main


def block_sum(blocks, n, threads):
    """One small sum a block."""

    @T.prim_func
    def main(A: T.Tensor((blocks, n), "float32"), y: T.Tensor((blocks,), "float32")):
        with T.Kernel(blocks, threads=threads) as bx:
            acc = T.alloc_reducer((1,), "float32", op="sum")
            acc_result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for j in T.Parallel(n):
                T.reducer_update(acc[0], A[bx, j])
            T.finalize_reducer(acc, acc_result)
            y[bx] = acc_result[0]

    return main
