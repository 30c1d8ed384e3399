"""The kernels that the interpreter's tests run. Each factory makes one PrimFunc.

Annotations are evaluated here, not postponed: TileLang reads them, and the sizes in their closures.
"""

from typing import Any

import tilelang
import tilelang.language as T
from packaging.version import Version
from tilelang.layout import make_swizzled_layout

RELEASE = Version(Version(tilelang.__version__).base_version)
NATIVE = Version("0.1.14") <= RELEASE
"""Whether the release has reducers of its own, so that v1 syntax goes through its shim."""

BATCHES = Version("0.1.10") <= RELEASE
"""Whether `finalize_reducer` takes a batch."""
GARBAGE = RELEASE in (Version("0.1.11"), Version("0.1.12"), Version("0.1.13"))
"""Whether warp specialization loses what consumers do outside their loop."""
FP8 = "float8_e4m3fn" if Version("0.1.9") <= RELEASE else "float8_e4m3"
UNSAFE = {"tl.disable_safe_memory_legalize": True}
UNSYNCED = {"tl.disable_thread_storage_sync": True}


def sum8() -> Any:
    """The example of the README: the sum of 8 values with 128 threads."""

    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(s)
            for i in T.Parallel(8):
                s[0] += A[i]
            T.finalize_reducer(s)
            T.copy(s, B)

    return main


def two_sites() -> Any:
    """One reducer updated by loops of widths 8 and 16."""

    @T.prim_func
    def main(
        A: T.Tensor((8,), "float32"), C: T.Tensor((16,), "float32"), B: T.Tensor((1,), "float32")
    ):
        with T.Kernel(1, threads=128):
            s = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(s)
            for i in T.Parallel(8):
                s[0] += A[i]
            for i in T.Parallel(16):
                s[0] += C[i]
            T.finalize_reducer(s)
            T.copy(s, B)

    return main


def serial_inside() -> Any:
    """A serial loop inside a parallel one of 32."""

    @T.prim_func
    def main(A: T.Tensor((8, 32), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(s)
            for i in T.Parallel(32):
                for j in T.serial(8):
                    s[0] += A[j, i]
            T.finalize_reducer(s)
            T.copy(s, B)

    return main


def beside_fragment() -> Any:
    """An update beside an ordinary fragment write."""

    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")
    ):
        with T.Kernel(1, threads=128):
            s = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            f = T.alloc_fragment((64,), "float32")
            T.clear(s)
            T.copy(A, f)
            for i in T.Parallel(64):
                s[0] += f[i]
                f[i] = f[i] * 2.0
            T.finalize_reducer(s)
            T.copy(f, C)
            T.copy(s, B)

    return main


def batched(batch: int) -> Any:
    """Eight row sums of 128, finalized in batches."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_reducer((8,), "float32", op="sum", replication="all")
            T.clear(s)
            for i, j in T.Parallel(8, 128):
                s[i] += A[i, j]
            T.finalize_reducer(s, batch=batch)
            T.copy(s, B)

    return main


def gemv(m: int, n: int, bm: int = 16, bn: int = 128, threads: int = 128) -> Any:
    """A pipelined float16 GEMV."""

    @T.prim_func
    def main(
        A: T.Tensor((m, n), "float16"), x: T.Tensor((n,), "float16"), y: T.Tensor((m,), "float16")
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            a = T.alloc_shared((bm, bn), "float16")
            xs = T.alloc_shared((bn,), "float16")
            o = T.alloc_reducer((bm,), "float32", op="sum", replication="all")
            T.clear(o)
            for k in T.Pipelined(T.ceildiv(n, bn), num_stages=2):
                T.copy(A[bx * bm, k * bn], a)
                T.copy(x[k * bn], xs)
                for i, j in T.Parallel(bm, bn):
                    o[i] += a[i, j].astype("float32") * xs[j].astype("float32")
            T.finalize_reducer(o)
            T.copy(o, y[bx * bm])

    return main


def rows(op: str, m: int, n: int, dtype: str, threads: int = 128) -> Any:
    """`T.reduce_<op>` of the rows of a fragment."""
    reduce = getattr(T, f"reduce_{op}")

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m,), dtype)):
        with T.Kernel(1, threads=threads):
            a = T.alloc_fragment((m, n), dtype)
            b = T.alloc_fragment((m,), dtype)
            T.copy(A, a)
            reduce(a, b, dim=1)
            T.copy(b, B)

    return main


def scan(dim: int, reverse: bool) -> Any:
    """`T.cumsum` of a shared tile."""

    @T.prim_func
    def main(A: T.Tensor((16, 128), "float32"), B: T.Tensor((16, 128), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((16, 128), "float32")
            T.copy(A, a)
            T.cumsum(src=a, dim=dim, reverse=reverse)
            T.copy(a, B)

    return main


def softmax(m: int, n: int) -> Any:
    """A row softmax in float32, from and to float16."""

    @T.prim_func
    def main(A: T.Tensor((m, n), "float16"), B: T.Tensor((m, n), "float16")):
        with T.Kernel(m, threads=128) as b:
            a = T.alloc_fragment((1, n), "float32")
            top = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(A[b, 0], a)
            T.reduce_max(a, top, dim=1)
            for i, j in T.Parallel(1, n):
                a[i, j] = T.exp(a[i, j] - top[i])
            T.reduce_sum(a, total, dim=1)
            for i, j in T.Parallel(1, n):
                a[i, j] = a[i, j] / total[i]
            T.copy(a, B[b, 0])

    return main


def atomics() -> Any:
    """Atomic sums, maxima and counters of all blocks."""

    @T.prim_func
    def main(
        A: T.Tensor((1024,), "float32"),
        total: T.Tensor((4,), "float32"),
        top: T.Tensor((4,), "float32"),
        low: T.Tensor((4,), "float32"),
        count: T.Tensor((1,), "int32"),
    ):
        with T.Kernel(4, threads=128) as b:
            for i in T.Parallel(256):
                T.atomic_add(total[i % 4], A[b * 256 + i])
                T.atomic_max(top[b], A[b * 256 + i])
                T.atomic_min(low[b], A[b * 256 + i])
            for _ in T.Parallel(128):
                T.atomic_add(count[0], 1)

    return main


def atomic_pairs() -> Any:
    """Float16 atomics, two at a time."""

    @T.prim_func
    def main(A: T.Tensor((256,), "float16"), B: T.Tensor((256,), "float16")):
        with T.Kernel(2, threads=128):
            a = T.alloc_shared((256,), "float16")
            T.copy(A, a)
            for i in T.Parallel(128):
                T.atomic_addx2(B[i * 2], a[i * 2])

    return main


def doubled(n: Any) -> Any:
    """Twice its input, of a size that may be symbolic."""

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as b:
            for i in T.Parallel(128):
                if b * 128 + i < n:
                    B[b * 128 + i] = A[b * 128 + i] * 2.0

    return main


def copied(m: int, n: int) -> Any:
    """A copy through shared tiles that do not divide the tensor."""

    @T.prim_func
    def main(A: T.Tensor((m, n), "float32"), B: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), threads=128) as (bx, by):
            s = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], s)
            T.copy(s, B[by * 32, bx * 32])

    return main


def persistent() -> Any:
    """Sixteen row sums by four persistent blocks."""

    @T.prim_func
    def main(A: T.Tensor((16, 128), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(4, threads=128) as b:
            a = T.alloc_fragment((1, 128), "float32")
            s = T.alloc_fragment((1,), "float32")
            for (r,) in T.Persistent([16], 4, b):
                T.copy(A[r, 0], a)
                T.reduce_sum(a, s, dim=1)
                T.copy(s, B[r])

    return main


def early_return() -> Any:
    """Half of the threads return before a barrier."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            s = T.alloc_shared((64,), "float32")
            if tx >= 32:
                T.thread_return()
            s[tx] = A[tx]
            T.sync_threads()
            B[tx] = s[T.max(31 - tx, 0)]

    return main


def logarithm() -> Any:
    """A while loop that ends at another turn in each thread."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            v = T.alloc_local((1,), "int32")
            n = T.alloc_local((1,), "int32")
            v[0] = A[tx]
            n[0] = 0
            while v[0] > 1:
                v[0] = v[0] // 2
                n[0] = n[0] + 1
            B[tx] = n[0]

    return main


def triangle() -> Any:
    """A loop whose length is the thread's number."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            n = T.alloc_local((1,), "int32")
            n[0] = 0
            for i in T.serial(tx):
                n[0] = n[0] + A[i]
            B[tx] = n[0]

    return main


def broken_off() -> Any:
    """A loop that each thread leaves at another turn."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            n = T.alloc_local((1,), "int32")
            n[0] = 0
            for i in T.serial(64):
                if A[i] >= tx:
                    T.loop_break()
                n[0] = n[0] + 1
            B[tx] = n[0]

    return main


def converted(source: str, target: str, n: int = 128) -> Any:
    """A conversion of every element."""

    @T.prim_func
    def main(A: T.Tensor((n,), source), B: T.Tensor((n,), target)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                B[i] = T.cast(A[i], target)

    return main


def elementwise(function: Any, dtype: str, n: int = 256) -> Any:
    """`function(A[i], C[i])` of every element."""

    @T.prim_func
    def main(A: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(n):
                B[i] = function(A[i], C[i])

    return main


def per_thread(function: Any, dtype: str = "float32", threads: int = 64) -> Any:
    """`function(A[tx])` in one block."""

    @T.prim_func
    def main(A: T.Tensor((threads,), dtype), B: T.Tensor((threads,), dtype)):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding(0)
            B[tx] = function(A[tx])

    return main


def exponential(x: Any) -> Any:
    """`exp`, to be applied with `per_thread`."""
    return T.exp(x)


def all_reduce(templates: str, threads: int, dtype: str = "float32") -> Any:
    """`tl::AllReduce<templates>::run` of one value a thread."""
    name = f"tl::AllReduce<{templates}>::run"

    @T.prim_func
    def main(A: T.Tensor((threads,), dtype), B: T.Tensor((threads,), dtype)):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding(0)
            w = T.alloc_shared((threads,), dtype)
            B[tx] = T.call_extern(dtype, name, A[tx], T.address_of(w[0]))

    return main


def shared_exchange(body: Any, threads: int = 64) -> Any:
    """`body(A, s, B, tx, b)` on a shared array, in two blocks."""

    @T.prim_func
    def main(A: T.Tensor((threads,), "float32"), B: T.Tensor((2 * threads,), "float32")):
        with T.Kernel(2, threads=threads) as b:
            tx = T.get_thread_binding(0)
            s = T.alloc_shared((threads,), "float32")
            body(A, s, B, tx, b)

    return main


@T.macro
def neighbour(A, s, B, tx, b):
    """Reads a shared element that another thread wrote, with no barrier between."""
    s[tx] = A[tx]
    B[b * 64 + tx] = s[63 - tx]


@T.macro
def neighbour_synced(A, s, B, tx, b):
    """The same with a barrier."""
    s[tx] = A[tx]
    T.call_extern("handle", "__syncthreads")
    B[b * 64 + tx] = s[63 - tx]


@T.macro
def overwritten(A, s, B, tx, b):
    """Writes what another thread reads, with no barrier between."""
    s[tx] = A[tx]
    T.call_extern("handle", "__syncthreads")
    B[b * 64 + tx] = s[63 - tx]
    s[tx] = A[tx] + 1.0


@T.macro
def colliding(A, s, B, tx, b):
    """Two threads write different values to one element in one statement."""
    s[tx // 2] = A[tx]
    T.call_extern("handle", "__syncthreads")
    B[b * 64 + tx] = s[tx // 2]


@T.macro
def agreeing(A, s, B, tx, b):
    """Two threads write the same value to one element."""
    s[tx // 2] = A[tx // 2]
    T.call_extern("handle", "__syncthreads")
    B[b * 64 + tx] = s[tx // 2]


@T.macro
def missing_five(A, s, B, tx, b):
    """Thread 5 of block 1 writes nothing, and reads."""
    if b == 0 or tx != 5:
        s[tx] = A[tx]
    B[b * 64 + tx] = s[tx]


@T.macro
def divergent(A, s, B, tx, b):
    """Twenty threads of block 1 meet at a barrier that the others run past."""
    s[tx] = A[tx]
    if b == 0 or tx >= 44:
        T.call_extern("handle", "__syncthreads")
    B[b * 64 + tx] = s[tx]


@T.macro
def warp_exchange(A, s, B, tx, b):
    """Threads of one warp exchange through shared memory, ordered by a barrier of the warp."""
    s[tx] = A[tx]
    T.call_extern("handle", "__syncwarp")
    B[b * 64 + tx] = s[tx // 32 * 32 + 31 - tx % 32]


def half_written_local() -> Any:
    """Reads a local element that nothing wrote."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            v = T.alloc_local((2,), "float32")
            v[0] = A[tx]
            B[tx] = v[0] + v[1]

    return main


def shifted(by_read: int, by_write: int) -> Any:
    """Reads and writes past the ends of arrays."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx + by_write] = A[tx + by_read]

    return main


def accumulated() -> Any:
    """Adds to an output that nothing wrote."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx] = B[tx] + A[tx]

    return main


def atomically_accumulated() -> Any:
    """Adds atomically to an output that nothing wrote."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            T.atomic_add(B[0], A[tx])

    return main


def partly_written() -> Any:
    """Writes the first ten elements of its output."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            if tx < 10:
                B[tx // 8, tx % 8] = A[tx]

    return main


def lonely_shuffle() -> Any:
    """Even threads shuffle with odd ones, which are not there."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx] = 0.0
            if tx % 2 == 0:
                B[tx] = T.shfl_xor(A[tx], 1)

    return main


def divided() -> Any:
    """Divides by its input."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx] = T.truncdiv(100, A[tx])

    return main


def in_place() -> Any:
    """Adds one to its argument."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            A[tx] = A[tx] + 1.0

    return main


def endless() -> Any:
    """A while loop that never ends."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            while A[tx] >= 0:
                A[tx] = 1

    return main


def scaled() -> Any:
    """Takes a number beside its array, and fills two outputs."""

    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"),
        factor: T.float32,
        count: T.int32,
        B: T.Tensor((64,), "float32"),
        C: T.Tensor((64,), "float32"),
    ):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx] = A[tx] * factor
            if tx < count:
                C[tx] = A[tx]
            else:
                C[tx] = 0.0

    return main


def product(dtype: str, transposed: bool) -> Any:
    """The product of a matrix with itself, which lowers to tensor core instructions."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), dtype), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.copy(A, a)
            T.gemm(a, a, c, transpose_B=transposed)
            T.copy(c, B)

    return main


def tile_sums(tiles: int) -> Any:
    """The sum of tiles, through a pipelined copy into shared memory."""

    @T.prim_func
    def main(A: T.Tensor((64, tiles * 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float32")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for t in T.Pipelined(tiles, num_stages=2):
                T.copy(A[0, t * 64], a)
                for i, j in T.Parallel(64, 64):
                    total[i, j] += a[i, j]
            T.copy(total, B)

    return main


@T.macro
def met_at_two_places(A, s, B, tx, b):
    """Half of the threads meet the other half at a barrier that each executes elsewhere."""
    if tx < 32:
        s[tx] = A[tx]
        T.sync_threads(3, 64)
        B[b * 64 + tx] = s[tx + 32]
    else:
        s[tx] = A[tx]
        T.sync_threads(3, 64)
        B[b * 64 + tx] = s[tx - 32]


@T.macro
def handed_over(A, s, B, tx, b):
    """Half of the threads arrive at a barrier without waiting; the others wait for them."""
    if tx < 32:
        s[tx] = A[tx]
        T.named_barrier_arrive(3, 64)
        B[b * 64 + tx] = A[tx]
    else:
        T.sync_threads(3, 64)
        B[b * 64 + tx] = s[tx - 32]


def two_kernels() -> Any:
    """Two launches in one function: the second reads what the first wrote."""

    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")
    ):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx] = A[tx] * 2.0
        with T.Kernel(2, threads=32) as b:
            tx = T.get_thread_binding(0)
            C[b * 32 + tx] = B[b * 32 + tx] + 1.0

    return main


def swizzled(m: int, n: int) -> Any:
    """Copies through shared tiles in a swizzled layout, by TMA on sm_90."""

    @T.prim_func
    def main(A: T.Tensor((m, n), "float16"), B: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            f = T.alloc_fragment((64, 64), "float16")
            T.annotate_layout({a: make_swizzled_layout(a), b: make_swizzled_layout(b)})
            T.copy(A[by * 64, bx * 64], a)
            T.copy(a, f)
            T.copy(f, b)
            T.copy(b, B[by * 64, bx * 64])

    return main


def grid_synced() -> Any:
    """Blocks that read each other's results after a barrier of the grid."""

    @T.prim_func
    def main(
        A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32"), C: T.Tensor((4,), "float32")
    ):
        with T.Kernel(4, threads=32) as b:
            tx = T.get_thread_binding(0)
            if tx == 0:
                B[b] = A[b] * 2.0
            T.sync_grid()
            if tx == 0:
                C[b] = B[3 - b]

    return main


def two_dimensional() -> Any:
    """A block of 16 by 8 threads."""

    @T.prim_func
    def main(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=(16, 8)):
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            B[ty, tx] = A[ty, 15 - tx]

    return main


def any_and_all() -> Any:
    """Tests of a whole shared array."""

    @T.prim_func
    def main(A: T.Tensor((64,), "bool"), B: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((64,), "bool")
            T.copy(A, s)
            B[0] = T.if_then_else(T.any_of(s), 1, 0)
            B[1] = T.if_then_else(T.all_of(s), 1, 0)

    return main


def relu_vectors() -> Any:
    """Vectors of eight halves."""

    @T.prim_func
    def main(A: T.Tensor((256,), "float16"), B: T.Tensor((256,), "float16")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding(0)
            for i in T.vectorized(8):
                B[tx * 8 + i] = T.max(A[tx * 8 + i], T.float16(0)) * T.float16(2)

    return main


def wide_moves(bits: int) -> Any:
    """Explicit loads and stores of `bits` at a time."""
    count = bits // 32
    load, store = getattr(T, f"ldg{bits}"), getattr(T, f"stg{bits}")

    @T.prim_func
    def main(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=256 // count):
            tx = T.get_thread_binding(0)
            store(B[tx * count], load(A[tx * count]))

    return main


def quadruples() -> Any:
    """Atomics of four floats."""

    @T.prim_func
    def main(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(3, threads=64):
            a = T.alloc_shared((256,), "float32")
            T.copy(A, a)
            for i in T.Parallel(64):
                T.atomic_addx4(B[i * 4], a[i * 4])

    return main


def tickets() -> Any:
    """An atomic counter that returns what it was."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx] = T.atomic_add(C[0], A[tx], return_prev=True)

    return main


def variable() -> Any:
    """A scalar variable with an initial value."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            n = T.alloc_var("int32", init=5)
            n = n + A[tx]
            B[tx] = n

    return main


def bits_of() -> Any:
    """The bits of floats."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            B[tx] = T.reinterpret(A[tx], "int32")

    return main


def rasterized() -> Any:
    """Blocks in a swizzled order."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(8, 8, threads=32) as (bx, by):
            T.use_swizzle(4)
            B[by * 8 + bx] = A[by * 8 + bx]

    return main


def batch_reduced(batch: int) -> Any:
    """Row sums reduced several at a time."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((8, 128), "float32")
            b = T.alloc_fragment((8,), "float32")
            T.copy(A, a)
            T.reduce_sum(a, b, dim=1, batch=batch)
            T.copy(b, B)

    return main


def asserted() -> Any:
    """Asserts that its input is small."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding(0)
            T.device_assert(A[tx] < 60.0, "too large", no_stack_info=True)
            B[tx] = A[tx]

    return main


def infinities() -> Any:
    @T.prim_func
    def main(B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=1):
            B[0] = T.infinity("float32")
            B[1] = -T.infinity("float32")

    return main
