"""Find warp-specialized kernels whose tensor copies are too small to keep memory busy.

Specialized warps double the threads of a block of 128, so half as many blocks share a
multiprocessor. A block has the bytes of its stages on their way, no more, and memory is kept busy
by about 40 kB on the way to each multiprocessor: at 1 us a transfer, 132 of them take 4.3 TB/s.
Consumers that copy a stage on to fragments hold it for longer, and need twice as many.

    time of copies by all threads, to that of tensor copies: halves, 128 threads, 2 stages, an H200
                on the way    GEMV    through fragments    row sums
    8 x 64           18 kB    0.73                 0.73        0.61
    8 x 96           28 kB    0.93                 0.83        0.83
    16 x 64          35 kB    0.67                 0.67        0.95
    8 x 128          37 kB    0.77                 0.77        0.91
    16 x 128         70 kB    1.00                 0.88        1.00

Asynchronous copies by all threads are given more bytes on the way where there are blocks enough to
fill the room, and where at least half of the threads have 16 bytes each to copy: 32 x 8 takes 241
us by tensor copies and 250 in pieces of 4 bytes.
"""

from __future__ import annotations

import math
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature
from reducer_compat.passes.pieces import in_pieces
from reducer_compat.passes.plan import dtype_bytes
from reducer_compat.passes.sites import is_fragment, is_tile
from reducer_compat.passes.specialized import is_specialized

#: Bytes on their way to a multiprocessor that keep memory busy, and where consumers copy them on.
BUSY, BUSY_BEHIND_FRAGMENTS = 40 << 10, 80 << 10
#: Of sm_90: threads and blocks that share a multiprocessor at most, bytes of shared memory that
#: blocks may have, and how many multiprocessors there are.
THREADS, BLOCKS, SHARED, MULTIPROCESSORS = 2048, 32, 227 << 10, 132
_TENSOR_COPY, _COPY = "tl.tileop.tma_copy", "tl.tileop.copy"


def refuse_small(func: Any, kernel: str, participants: int) -> None:
    """See that the tensor copies of a warp-specialized kernel keep memory busy.

    Raises:
        UnfitError: they do not, and copies by all threads would do better.
    """
    if not is_specialized(func):
        return
    whole = statements(func)
    calls = [stmt.value for stmt in whole if type(stmt) is adapter().tir.Evaluate]
    copies = [call for call in calls if tree.callee(call) == _TENSOR_COPY]
    if not copies or any("gemm" in tree.callee(call) for call in calls):
        return
    blocks, threads = _launched(whole)
    staged = _staged(copies)
    resident = min(BLOCKS, THREADS // threads, SHARED // staged)
    busy = BUSY_BEHIND_FRAGMENTS if any(map(_fills_fragment, calls)) else BUSY
    if resident * staged >= busy or blocks <= (resident - 1) * MULTIPROCESSORS:
        return
    users = [in_pieces(copy) for copy in copies]
    if None in users or 2 * max(filter(None, users)) < participants:
        return
    raise UnfitError(
        Feature.SPECIALIZED,
        f"its tensor copies have {resident * staged} bytes on their way to a multiprocessor",
        kernel,
    )


def _fills_fragment(call: Any) -> bool:
    """Whether a call copies from shared memory to a fragment."""
    if tree.callee(call) != _COPY:
        return False
    source, target = (call.args[side].args[0].buffer for side in range(2))
    return is_tile(source) and is_fragment(target)


def _launched(whole: Any) -> tuple[int, int]:
    """The blocks of a kernel, 0 where that is not known, and the threads of each."""
    launches = [stmt for stmt in whole if tree.is_launch(stmt)]
    counts = {str(one.node.thread_tag): tree.constant(one.value) or 0 for one in launches}
    blocks, threads = (
        math.prod(count for tag, count in counts.items() if tag.startswith(index))
        for index in ("blockIdx", "threadIdx")
    )
    return blocks, max(threads, 1)


def _staged(copies: list[Any]) -> int:
    """The bytes of all stages of the buffers that are copied to."""
    buffers = {hash(b.data): b for b in (copy.args[1].args[0].buffer for copy in copies)}
    sizes = (
        math.prod(tree.constant(extent) or 1 for extent in tree.items(buffer.shape))
        * dtype_bytes(str(buffer.dtype))
        for buffer in buffers.values()
    )
    return sum(sizes)
