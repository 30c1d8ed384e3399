"""How TileLang spreads a parallel loop over threads, and how often a contribution then counts.

Up to TileLang 0.1.13 a `T.Parallel` nest that is bound to no other layout is flattened, cut into
vectors and dealt to the threads in turn. Where that leaves threads over, the whole loop is
replicated on them; the finalize of a `replication="all"` reducer combines all threads, hence
every replica. The model was checked against the code that each release generates
(`tests/releases/test_wheel_replication.py`).
"""

from __future__ import annotations

from math import prod

from reducer_rules.nest import is_power_of_two

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


def tiles_native(threads: int, parallel: tuple[int, ...], reduced: tuple[bool, ...]) -> bool:
    """False where an update from global or shared memory surely fails to compile on native v2.

    TileLang 0.1.14 and 0.1.15 deal rows of vectors: in a nest that has more vectors than threads, a
    row, and in deeper nests every block of rows, must divide the threads or be a multiple of them.
    `reduced` says which loops number no output. A nest of two loops without any need only have a
    multiple of threads of vectors. Loops of one dimension are padded and always compile, as do
    nests of which all extents are powers of two, that are made one loop.
    """
    if len(parallel) < 2 or prod(parallel[:-1]) == 1 or all(map(is_power_of_two, parallel)):
        return True
    widths = _native_widths(threads, parallel)
    if not any(reduced) and len(parallel) == 2:
        totals = (prod(parallel) // width for width in widths)
        return any(total <= threads or total % threads == 0 for total in totals)
    outer = _before_last_kind(reduced)
    extents = (*parallel[:outer], prod(parallel[outer:])) if outer else parallel
    return any(_blocks_fit(threads, extents, width) for width in widths)


def _before_last_kind(reduced: tuple[bool, ...]) -> int:
    """How many loops are around the innermost ones of one kind, which are dealt as one."""
    return next((n for n in range(len(reduced), 0, -1) if reduced[n - 1] != reduced[-1]), 0)


def combines_native(threads: int, parallel: tuple[int, ...], reduced: tuple[bool, ...]) -> bool:
    """False where native v2 surely cannot combine only the threads that share an output.

    Its collective takes powers of two of threads, a power of two apart, of a loop that fills all
    threads. `reduced` says which loops of a nest number no output; those that number outputs and
    those that do not are taken to be side by side, else nothing is said.
    """
    extents, kinds = _merged(parallel, reduced)
    if len(extents) != 2 or extents[0] == 1 or kinds[0] == kinds[1]:
        return True
    return any(
        _steps_fit(threads, extents[0], extents[1] // width, inner=kinds[1])
        for width in _native_widths(threads, parallel)
    )


def _merged(
    parallel: tuple[int, ...], reduced: tuple[bool, ...]
) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """A nest of both kinds with neighbours of one kind as one loop, which are dealt alike."""
    if len(set(reduced)) == 1:
        return parallel, reduced
    extents: list[int] = []
    kinds: list[bool] = []
    for extent, kind in zip(parallel, reduced, strict=True):
        if kinds[-1:] == [kind]:
            extents[-1] *= extent
        else:
            extents.append(extent)
            kinds.append(kind)
    return tuple(extents), tuple(kinds)


def _steps_fit(threads: int, rows: int, vectors: int, *, inner: bool) -> bool:
    """Whether threads along the rows (`inner`), or across them, can be combined by themselves."""
    if rows * vectors < threads:
        return False
    if vectors % threads == 0:
        return not inner or is_power_of_two(threads)
    if threads % vectors:
        return True
    return is_power_of_two(vectors) and (inner or is_power_of_two(threads // vectors))


def _blocks_fit(threads: int, parallel: tuple[int, ...], width: int) -> bool:
    """Whether each block of rows, from one row on, fits the threads, or the whole nest does."""
    blocks = [prod(parallel[axis:]) // width for axis in range(len(parallel))]
    whole, *inner = blocks
    return whole <= threads or all(
        block % threads == 0 or threads % block == 0 for block in inner if block
    )


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
