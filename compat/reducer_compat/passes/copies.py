"""Find copies that the tensor memory accelerator cannot make.

A tensor copy must start at a multiple of 128 bytes of shared memory (CUDA Programming Guide,
tensor maps). TileLang gives each stage of a pipelined buffer the bytes that it needs and no
more, so where a stage of a tile takes 192 bytes every other one is misaligned, and the kernel
faults on Hopper: seen on an H200 with 0.1.10 and 0.1.12, for tiles of 8x96, 32x8 and 5x56.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import CopyError, ReducerError
from reducer_compat.passes.plan import dtype_bytes
from reducer_compat.passes.specialized import DISABLED

#: TileLang's pass configs that keep `T.copy` off the accelerator: from 0.1.9 on the producers of
#: warp specialization load by it whatever the first one says.
WITHOUT_TMA = {"tl.disable_tma_lower": True, DISABLED: True}
#: Bytes that a tensor copy's address is a multiple of.
ALIGNMENT = 128
_LOAD = "tl.tma_load"
_DESCRIPTOR = "tl.create_tma_descriptor"


def refuse_misaligned(func: Any, kernel: str) -> None:
    """See that every tensor copy of a lowered kernel starts where it may.

    Raises:
        CopyError: one does not, and the kernel was not lowered without the accelerator yet.
        ReducerError: one does not, all the same.
    """
    for call in _tensor_copies(func.body):
        pointer = call.args[2]
        if tree.callee(pointer) == adapter().op("tvm_access_ptr").name and not _aligned(pointer):
            kind = ReducerError if _is_without_tma() else CopyError
            raise kind(
                "RC003",
                f"TileLang copies to {pointer.args[1].name} by TMA, to an address that is no "
                f"multiple of {ALIGNMENT} bytes",
                kernel=kernel,
                fix=f"make the tile's bytes a multiple of {ALIGNMENT}",
            )


def _is_without_tma() -> bool:
    config = adapter().tvm.transform.PassContext.current().config
    return all(key in config and bool(config[key]) for key in WITHOUT_TMA)


def _tensor_copies(body: Any) -> list[Any]:
    evaluate = adapter().tir.Evaluate
    calls = [stmt.value for stmt in tree.walk(body) if type(stmt) is evaluate]
    loads = [call for call in calls if tree.callee(call) == _LOAD]
    return [call for call in loads if tree.callee(call.args[0]) == _DESCRIPTOR]


def _aligned(pointer: Any) -> bool:
    """Whether an address of shared memory is a multiple of the alignment.

    Where stages are made only after tile operations are lowered, what is copied is one.
    """
    here = adapter()
    element, _, offset, extent = pointer.args[:4]
    itemsize = dtype_bytes(str(element.dtype))
    found = here.tvm.arith.Analyzer().modular_set(here.simplify(offset))
    places = [int(found.coeff), int(found.base)]
    if here.stages_after_lowering:
        places.append(tree.constant(extent) or 1)
    return not any(place * itemsize % ALIGNMENT for place in places)
