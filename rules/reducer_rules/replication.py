"""How TileLang spreads a parallel loop over threads, and how often a contribution then counts.

Up to TileLang 0.1.13 a `T.Parallel` nest that is bound to no other layout is flattened, cut into
vectors and dealt to the threads in turn. Where that leaves threads over, the whole loop is
replicated on them; the finalize of a `replication="all"` reducer combines all threads, hence
every replica. The model was checked against the code that each release generates
(`tests/releases/test_wheel_replication.py`).
"""

from __future__ import annotations

from math import prod

#: Vector widths that a release may cut a loop into: 128 bits of any dtype of 8 bits and more.
_WIDTHS = (1, 2, 4, 8, 16)


def width_is_one(threads: int, parallel: tuple[int, ...], serial: tuple[int, ...] = ()) -> bool:
    """Whether the loop is cut into single iterations, whatever its operands are.

    TileLang halves the vector width until `threads * width` divides the iterations of the nest,
    and counts serial loops directly inside a parallel one as part of the nest. `parallel` and
    `serial` are extents, outermost first.
    """
    total = prod(parallel) * prod(serial)
    return total % threads != 0 or total == threads


def replicas(threads: int, parallel: tuple[int, ...], serial: tuple[int, ...] = ()) -> int | None:
    """How many threads execute one iteration of a parallel nest, up to TileLang 0.1.13.

    1 where the nest covers the threads. None where it is not determined by the extents: with a
    serial loop inside, the vector width may come from that loop, so that fewer iterations are
    dealt than the parallel extents say. None also where the nest does not tile the threads.
    """
    total = prod(parallel)
    if prod(serial) > 1 and not width_is_one(threads, parallel, serial):
        return None
    if total < threads:
        return threads // total
    return 1 if total % threads == 0 else None


def threads_per_row(threads: int, rows: int, columns: int, bits: int) -> int | None:
    """How many threads share one row of a tile of fragments that a copy fills, on every release.

    A copy deals vectors of up to 128 bits, as wide as leaves no thread without one. More than
    `threads` where a row takes several rounds; None where the tile does not fill the threads, or
    a row neither divides them nor is a multiple of them.
    """
    widths = [
        width
        for width in _WIDTHS
        if width * bits <= 128 and columns % width == 0 and rows * columns % (threads * width) == 0
    ]
    if not widths:
        return None
    sharing = columns // max(widths)
    return sharing if threads % sharing == 0 or sharing % threads == 0 else None


def tiles(threads: int, parallel: tuple[int, ...], serial: tuple[int, ...] = ()) -> bool:
    """False where the nest surely fails to compile up to TileLang 0.1.13.

    A nest of more iterations than threads must be a multiple of them.
    """
    total = prod(parallel)
    if prod(serial) > 1 and not width_is_one(threads, parallel, serial):
        return True
    return total < threads or total % threads == 0


def tiles_native(threads: int, parallel: tuple[int, ...]) -> bool:
    """False where an update from global or shared memory surely fails to compile on native v2.

    TileLang 0.1.14 and 0.1.15 deal rows of vectors: in a nest of two loops that has more vectors
    than threads, a row must divide the threads or be a multiple of them. Loops of one dimension
    are padded and always compile; nests of three are not modelled and taken to compile.
    """
    if len(parallel) != 2 or parallel[0] == 1:
        return True
    return any(_rows_fit(threads, *parallel, width) for width in _native_widths(threads, parallel))


def _rows_fit(threads: int, rows: int, columns: int, width: int) -> bool:
    vectors = columns // width
    return rows * vectors <= threads or vectors % threads == 0 or threads % vectors == 0


def _native_widths(threads: int, parallel: tuple[int, ...]) -> set[int]:
    """The widths that native v2 may choose, over all widths the operands may allow at most.

    Of those it takes the one that pads the loop least, the widest of equals.
    """
    total = prod(parallel)
    legal = [width for width in _WIDTHS if parallel[-1] % width == 0]
    return {
        min(legal[: most + 1], key=lambda width: (-total % (threads * width), -width))
        for most in range(len(legal))
    }
