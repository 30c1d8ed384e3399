"""Find copies that the tensor memory accelerator cannot make.

A tensor copy must start at a multiple of 128 bytes of shared memory (CUDA Programming Guide,
tensor maps). TileLang gives each stage of a pipelined buffer the bytes that it needs and no
more, so where a stage of a tile takes 192 bytes every other one is misaligned, and the kernel
faults on Hopper: seen on an H200 with 0.1.10 and 0.1.12, for tiles of 8x96, 32x8 and 5x56.

A bulk copy, of contiguous bytes without a descriptor, must start at multiples of 16 bytes of both
memories and be as long (PTX ISA, cp.async.bulk). 0.1.8 warns of tiles whose rows are not, and
copies them so all the same.

A tile with rows of more than 256 elements is copied box by box. From 0.1.9 to 0.1.11 TileLang lays
such a tile out with its stages inside the boxes and copies as if they were outside, so consumers
read another stage's box, in kernels without reducers, too. 0.1.8 and 0.1.15 are right, 0.1.12 and
0.1.13 refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import CopyError, ReducerError
from reducer_compat.passes.build import product
from reducer_compat.passes.plan import dtype_bytes
from reducer_compat.passes.specialized import DISABLED

#: TileLang's pass configs that keep `T.copy` off the accelerator: from 0.1.9 on the producers of
#: warp specialization load by it whatever the first one says.
WITHOUT_TMA = {"tl.disable_tma_lower": True, DISABLED: True}
#: Bytes that a tensor copy's address is a multiple of.
ALIGNMENT = 128
#: Bytes that both addresses and the length of a bulk copy are multiples of.
BULK = 16
_LOAD = "tl.tma_load"
_DESCRIPTOR = "tl.create_tma_descriptor"


def refuse_misaligned(func: Any, kernel: str) -> None:
    """See that every tensor copy of a lowered kernel starts where it may.

    Raises:
        CopyError: one does not, and the kernel was not lowered without the accelerator yet.
        ReducerError: one does not, all the same.
    """
    evaluate = adapter().tir.Evaluate
    if not any(type(stmt) is evaluate and _is_load(stmt.value) for stmt in statements(func)):
        return
    for call, loops in _looped(func.body, ()):
        bounds = _bounds(call)
        if all(_is_multiple(pointer, loops, bytes_) for pointer, bytes_ in bounds):
            continue
        kind = ReducerError if is_without_tma() else CopyError
        pointer, least = bounds[0]
        raise kind(
            "RC003",
            f"TileLang copies to {pointer.args[1].name} by TMA, from or to an address or bytes "
            f"that are no multiple of {least}",
            kernel=kernel,
            fix=f"make the tile's bytes a multiple of {least}",
        )


def _bounds(call: Any) -> list[tuple[Any, int]]:
    """The pointers of a copy, its target first, and what their bytes are multiples of."""
    if tree.callee(call.args[0]) == _DESCRIPTOR:
        found = [(call.args[2], ALIGNMENT)]
    else:
        found = [(pointer, BULK) for pointer in tree.items(call.args)[:2]]
    kind = adapter().op("tvm_access_ptr").name
    return [(pointer, least) for pointer, least in found if tree.callee(pointer) == kind]


def refuse_interleaved(func: Any, kernel: str) -> None:
    """See that no tile with stages is copied in boxes, where they would be read interleaved.

    Raises:
        CopyError: one is.
    """
    boxes: dict[int, list[int]] = {}
    for call, times in _repeated(func.body, 1):
        pointer = call.args[2]
        if tree.callee(pointer) == adapter().op("tvm_access_ptr").name:
            size = tree.constant(pointer.args[3]) or 0
            boxes.setdefault(hash(pointer.args[1]), []).extend([size] * times)
    for buffer in tree.allocated(tree.walk(func.body)):
        copied = boxes.get(hash(buffer.data), [])
        if len(copied) > 1 and sum(copied) < int(product(tree.items(buffer.shape))):
            raise CopyError(
                "RC003",
                f"TileLang copies the stages of {buffer.name} by TMA in boxes that it reads in "
                "another order",
                kernel=kernel,
                fix="make the rows of the tile no longer than 256 elements",
            )


def _repeated(stmt: Any, times: int) -> Iterator[tuple[Any, int]]:
    """The tensor copies in a statement, and how often each is written out."""
    tir = adapter().tir
    if type(stmt) is tir.Evaluate:
        yield from ((call, times) for call in _tensor_copies(stmt))
    elif type(stmt) is tir.For and stmt.kind == tir.ForKind.UNROLLED:
        times *= tree.constant(stmt.extent) or 1
    for child in tree.children(stmt):
        yield from _repeated(child, times)


def is_without_tma() -> bool:
    """Whether the kernel is lowered without the accelerator."""
    config = adapter().tvm.transform.PassContext.current().config
    return all(key in config and bool(config[key]) for key in WITHOUT_TMA)


def _tensor_copies(body: Any) -> list[Any]:
    return [call for call in _loads(body) if tree.callee(call.args[0]) == _DESCRIPTOR]


def _loads(body: Any) -> list[Any]:
    evaluate = adapter().tir.Evaluate
    calls = [stmt.value for stmt in tree.walk(body) if type(stmt) is evaluate]
    return [call for call in calls if _is_load(call)]


def _is_load(call: Any) -> bool:
    return tree.callee(call) == _LOAD


def _looped(stmt: Any, loops: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The copies of the accelerator in a statement, each with the loops around it."""
    tir = adapter().tir
    if type(stmt) is tir.Evaluate:
        yield from ((call, loops) for call in _loads(stmt))
    if type(stmt) is tir.For:
        loops = (*loops, stmt)
    for child in tree.children(stmt):
        yield from _looped(child, loops)


def _is_multiple(pointer: Any, loops: tuple[Any, ...], least: int) -> bool:
    """Whether an address, in these loops, is a multiple of some bytes, and in a row what is
    copied is.

    Where stages are made only after tile operations are lowered, they are as far apart as what is
    copied to one is long.
    """
    here = adapter()
    element, _, offset, extent = pointer.args[:4]
    itemsize = dtype_bytes(str(element.dtype))
    analyzer = here.tvm.arith.Analyzer()
    for loop in loops:
        analyzer.bind(loop.loop_var, here.tvm.ir.Range.from_min_extent(loop.min, loop.extent))
    found = analyzer.modular_set(analyzer.simplify(offset))
    places = [int(found.coeff), int(found.base)]
    if least == BULK or here.pipelines_late:
        places.append(tree.constant(extent) or 1)
    return not any(place * itemsize % least for place in places)
