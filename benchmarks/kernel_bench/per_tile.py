"""The benchmark kernels with `T.reduce_*` once a tile, where that computes the same."""

import tilelang.language as T


def gemv_fragment(m, k, bm, bk, threads, dtype):
    """`A @ x`: a fragment of products, reduced once a tile."""

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), x: T.Tensor((k,), dtype), y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bk), dtype)
            x_s = T.alloc_shared((bk,), dtype)
            product = T.alloc_fragment((bm, bk), "float32")
            acc = T.alloc_fragment((bm,), "float32")
            T.clear(acc)
            for kt in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[bx * bm, kt * bk], A_s)
                T.copy(x[kt * bk], x_s)
                for i, j in T.Parallel(bm, bk):
                    product[i, j] = A_s[i, j].astype("float32") * x_s[j].astype("float32")
                T.reduce_sum(product, acc, dim=1, clear=False)
            T.copy(acc, y[bx * bm])

    return main


def gemv_16bit(m, k, bm, bk, threads, dtype):
    """`A @ x` in the 16-bit dtype itself."""

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), x: T.Tensor((k,), dtype), y: T.Tensor((m,), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bk), dtype)
            x_s = T.alloc_shared((bk,), dtype)
            product = T.alloc_fragment((bm, bk), dtype)
            acc = T.alloc_fragment((bm,), dtype)
            T.clear(acc)
            for kt in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[bx * bm, kt * bk], A_s)
                T.copy(x[kt * bk], x_s)
                for i, j in T.Parallel(bm, bk):
                    product[i, j] = A_s[i, j] * x_s[j]
                T.reduce_sum(product, acc, dim=1, clear=False)
            T.copy(acc, y[bx * bm])

    return main


def row_sum_global(m, n, bm, bn, threads, dtype):
    """Row sums, tiles loaded to fragments straight from global memory."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            tile = T.alloc_fragment((bm, bn), "float32")
            acc = T.alloc_fragment((bm,), "float32")
            T.clear(acc)
            for k in T.serial(T.ceildiv(n, bn)):
                T.copy(A[bx * bm, k * bn], tile)
                T.reduce_sum(tile, acc, dim=1, clear=False)
            T.copy(acc, y[bx * bm])

    return main


def row_sum_shared(m, n, bm, bn, threads, dtype):
    """Row sums, tiles streamed through shared memory."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bn), dtype)
            tile = T.alloc_fragment((bm, bn), "float32")
            acc = T.alloc_fragment((bm,), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(n, bn), num_stages=2):
                T.copy(A[bx * bm, k * bn], A_s)
                T.copy(A_s, tile)
                T.reduce_sum(tile, acc, dim=1, clear=False)
            T.copy(acc, y[bx * bm])

    return main


def row_max_shared(m, n, bm, bn, threads, dtype):
    """Row maxima, tiles streamed through shared memory."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), y: T.Tensor((m,), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bn), dtype)
            tile = T.alloc_fragment((bm, bn), dtype)
            acc = T.alloc_fragment((bm,), dtype)
            T.fill(acc, -T.infinity(dtype))
            for k in T.Pipelined(T.ceildiv(n, bn), num_stages=2):
                T.copy(A[bx * bm, k * bn], A_s)
                T.copy(A_s, tile)
                T.reduce_max(tile, acc, dim=1, clear=False)
            T.copy(acc, y[bx * bm])

    return main


def softmax_statistics(m, n, bm, threads, dtype):
    """Row maximum and sum of exponentials."""

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        peak: T.Tensor((m,), "float32"),
        total: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            row = T.alloc_fragment((bm, n), "float32")
            top = T.alloc_fragment((bm,), "float32")
            mass = T.alloc_fragment((bm,), "float32")
            T.copy(X[bx * bm, 0], row)
            T.reduce_max(row, top, dim=1, clear=True)
            for i, j in T.Parallel(bm, n):
                row[i, j] = T.exp(row[i, j] - top[i])
            T.reduce_sum(row, mass, dim=1, clear=True)
            T.copy(top, peak[bx * bm])
            T.copy(mass, total[bx * bm])

    return main


def rmsnorm_forward(m, n, threads, dtype):
    """RMSNorm, one token a block."""

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), W: T.Tensor((n,), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m, threads=threads) as token:
            row = T.alloc_fragment((1, n), "float32")
            squares = T.alloc_fragment((1, n), "float32")
            square = T.alloc_fragment((1,), "float32")
            T.copy(X[token, 0], row)
            for i, j in T.Parallel(1, n):
                squares[i, j] = row[i, j] * row[i, j]
            T.reduce_sum(squares, square, dim=1)
            for i, j in T.Parallel(1, n):
                Y[token + i, j] = T.cast(
                    row[i, j] * T.rsqrt(square[i] / n + 1e-6) * W[j].astype("float32"), dtype
                )

    return main


def absmax_scale(m, group, bm, threads, dtype):
    """The scale of int8 quantization, one for each group."""

    @T.prim_func
    def main(X: T.Tensor((m, group), dtype), S: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            x = T.alloc_fragment((bm, group), "float32")
            peak = T.alloc_fragment((bm,), "float32")
            scale = T.alloc_fragment((bm,), "float32")
            T.copy(X[bx * bm, 0], x)
            T.reduce_absmax(x, peak, dim=1)
            for i in T.Parallel(bm):
                scale[i] = peak[i] / 127.0
            T.copy(scale, S[bx * bm])

    return main


def smallest(m, n, k, threads):
    """The `k` smallest of each row."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), out: T.Tensor((m, k), "float32")):
        with T.Kernel(m, threads=threads) as row:
            left = T.alloc_fragment((1, n), "float32")
            best = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], left)
            for step in T.serial(k):
                T.reduce_min(left, best, dim=1, clear=True)
                out[row, step] = best[0]
                for i, j in T.Parallel(1, n):
                    if left[i, j] == best[i]:
                        left[i, j] = T.infinity("float32")

    return main


def block_sum(blocks, n, threads):
    """One small sum a block."""

    @T.prim_func
    def main(A: T.Tensor((blocks, n), "float32"), y: T.Tensor((blocks,), "float32")):
        with T.Kernel(blocks, threads=threads) as bx:
            row = T.alloc_fragment((1, n), "float32")
            acc = T.alloc_fragment((1,), "float32")
            T.copy(A[bx, 0], row)
            T.reduce_sum(row, acc, dim=1)
            y[bx] = acc[0]

    return main
