"""`tl::AllReduce` and the warp reductions: XOR butterflies over thread numbers.

The butterfly halves its width at each level. Levels as wide as a warp and wider go through a
workspace in shared memory with a barrier before the write and one after it; the others through
shuffles. All that meets at the first barrier runs the levels in lockstep here, so that one gate
before the call is enough.

HIP's template has no barrier among its arguments, takes any of the widths 2 to 1024 that are
powers of two on every release, and its `run` numbers the workspace by the whole thread index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..expr import literal
from ..lowering import CUDA, Device, Tir
from ..memory import Pointer
from ..program import Value
from ..report import SimtError, UnsupportedError
from ..wave import Wave
from .barriers import BlockBarrier, NamedBarrier, join_lanes
from .registry import Extern, GateMaker, extern, extern_gate, op
from .warp import shuffle

if TYPE_CHECKING:
    from ..compile import Compiler

Combine = Callable[[Any, Any], Any]

_REDUCERS: dict[str, Combine] = {
    "tl::SumOp": lambda a, b: a + b, "tl::MaxOp": np.fmax, "tl::MinOp": np.fmin,
    "tl::MaxOpNan": np.maximum, "tl::MinOpNan": np.minimum,
    "tl::BitAndOp": np.bitwise_and, "tl::BitOrOp": np.bitwise_or, "tl::BitXorOp": np.bitwise_xor,
    "tl::SumOp_f32x2": lambda a, b: a + b, "tl::MaxOp_f32x2": np.fmax, "tl::MinOp_f32x2": np.fmin,
}  # fmt: skip
for _kind in ("bf16x2", "fp16x2"):
    _REDUCERS |= {f"tl::{n}_{_kind}": _REDUCERS[f"tl::{n}"] for n in ("SumOp", "MaxOp", "MinOp")}
    _REDUCERS |= {f"tl::{n}_{_kind}": _REDUCERS[f"tl::{n}"] for n in ("MaxOpNan", "MinOpNan")}


@dataclass(frozen=True)
class Butterfly:
    """The template arguments of one `tl::AllReduce`."""

    combine: Combine
    width: int
    scale: int
    offset: int
    barrier: int | None
    batch: int
    stride: int
    warp: int

    def distances(self) -> list[int]:
        """The XOR distance of each level, widest first."""
        out, width = [], self.width
        while width > self.scale:
            width //= 2
            out.append(width)
        return out

    @property
    def wide(self) -> bool:
        """Whether a level goes through shared memory."""
        return self.width > self.scale and self.width // 2 >= self.warp


def parse_butterfly(call: Extern, tir: Tir, on: Device = CUDA) -> Butterfly:
    """The butterfly of a call. Raises SimtError for arguments that the device compiler refuses."""
    combine = _REDUCERS.get(call.templates[0] if call.templates else "")
    if combine is None:
        raise UnsupportedError(f"the function {call.text}")
    if on.hip:
        return _parse_hip(call, combine, on)
    policy = call.templates[4] if len(call.templates) > 4 else "tl::SyncThreadsBarrier"
    named = (
        policy.removeprefix("tl::NamedBarrier<").removesuffix(">")
        if "NamedBarrier" in policy
        else None
    )
    shape = Butterfly(
        combine, call.integer(1), call.integer(2), call.integer(3, 0),
        int(named) if named else None, call.integer(5, 1), call.integer(6, 0), on.warp,
    )  # fmt: skip
    _check(call, shape, tir.strict_allreduce, tir.strict_scale)
    return shape


def _parse_hip(call: Extern, combine: Combine, on: Device) -> Butterfly:
    offset = call.integer(3, 0) if call.method == "run_batch" else 0
    shape = Butterfly(
        combine, call.integer(1), call.integer(2), offset,
        None, call.integer(4, 1), call.integer(5, 0), on.warp,
    )  # fmt: skip
    if not (_is_power(shape.width) and 2 <= shape.width <= 1024):
        raise SimtError(f"{call.text} does not compile: its width is no power of two up to 1024")
    _check(call, shape, True, True)
    return shape


def _check(call: Extern, shape: Butterfly, strict_lanes: bool, strict_scale: bool) -> None:
    lanes, rest = divmod(shape.width, max(shape.scale, 1))
    last = shape.distances()[-1] if shape.width > shape.scale else shape.scale
    refused = (strict_lanes and not _is_power(lanes)) or (
        strict_scale and not _is_power(shape.scale)
    )
    if rest or refused or last != shape.scale:
        raise SimtError(
            f"{call.text} does not compile: {shape.width} threads at stride {shape.scale} "
            "are no power of two of participants"
        )


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@extern_gate("tl::AllReduce")
def _gate(c: Compiler, call: Extern) -> GateMaker | None:
    shape = parse_butterfly(call, c.tir, c.on)
    if not shape.wide:
        return None
    if shape.barrier is None:
        return BlockBarrier
    count = np.int64(shape.barrier)
    return lambda: NamedBarrier(literal(np.int64(1)), literal(count))


@extern("tl::AllReduce")
def _all_reduce(c: Compiler, call: Extern) -> Value:
    shape = parse_butterfly(call, c.tir, c.on)
    value = c.expr(call.args[0])
    workspace = c.expr(call.args[1]) if len(call.args) > 1 else None
    if call.method == "run":
        return lambda w: run_levels(w, shape, value(w), workspace(w) if workspace else None, 0)
    if call.method == "run_batch":
        return lambda w: _run_batch(w, shape, value(w), workspace(w) if workspace else None)
    raise UnsupportedError(f"the function {call.text}")


def _run_batch(wave: Wave, shape: Butterfly, pointer: Pointer, workspace: Pointer | None) -> None:
    if pointer.dtype is None:
        raise UnsupportedError("tl::AllReduce::run_batch on an address without a type")
    for i in range(shape.batch):
        value = access.load(wave, pointer, np.int64(i), pointer.dtype, None)
        result = run_levels(wave, shape, value, workspace, i * shape.stride)
        access.store(wave, pointer, np.int64(i), pointer.dtype, None, result)


def run_levels(
    wave: Wave, shape: Butterfly, value: Any, workspace: Pointer | None, base: int
) -> Any:
    """The value of each lane after all levels; its slice of the workspace begins at `base`."""
    value = np.broadcast_to(value, (wave.n, *np.shape(value)[1:]))
    for distance in shape.distances():
        if distance >= shape.warp:
            other = _through_memory(wave, shape, value, workspace, distance, base)
        else:
            other = shuffle(wave, "xor", value, distance)
        value = shape.combine(value, other)
    return value


def _through_memory(
    wave: Wave, shape: Butterfly, value: Any, workspace: Pointer | None, distance: int, base: int
) -> Any:
    if workspace is None:
        raise SimtError(f"tl::AllReduce over {shape.width} threads has no workspace")
    lanes = value.shape[1] if value.ndim == 2 else 1
    mine, dtype = wave.tid % wave.m.dims[0] - shape.offset, value.dtype
    _sync(wave, shape)
    access.store(wave, workspace, _slot(mine + base, lanes), dtype, None, value)
    _sync(wave, shape)
    return access.load(wave, workspace, _slot((mine ^ distance) + base, lanes), dtype, None)


def _slot(index: Any, lanes: int) -> Any:
    return index if lanes == 1 else index[:, None] * lanes + np.arange(lanes)


def _sync(wave: Wave, shape: Butterfly) -> None:
    if shape.barrier is None:
        wave.m.clocks.join_blocks(np.unique(wave.block))
    else:
        join_lanes(wave, wave.block)


# -- reductions of one warp ------------------------------------------------------------------------

_WARP: dict[str, Combine] = {
    "sum": _REDUCERS["tl::SumOp"], "max": np.fmax, "min": np.fmin,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or,
}  # fmt: skip


def _warp_reduce(c: Compiler, name: str, argument: Any) -> Value:
    if c.on.hip:
        raise UnsupportedError(f"{name} on HIP")
    value, combine = c.expr(argument), _WARP[name.rsplit("_", 1)[1]]

    def run(w: Wave) -> Any:
        result = value(w)
        for distance in (16, 8, 4, 2, 1):
            result = combine(result, shuffle(w, "xor", result, distance))
        return result

    return run


@op(*(f"tl.warp_reduce_{kind}" for kind in _WARP))
def _warp_reduce_op(c: Compiler, node: Any) -> Value:
    return _warp_reduce(c, c.tir.op_name(node), node.args[0])


@extern(*(f"tl::warp_reduce_{kind}" for kind in _WARP))
def _warp_reduce_extern(c: Compiler, call: Extern) -> Value:
    return _warp_reduce(c, call.name, call.args[0])


__all__ = ["Butterfly", "parse_butterfly", "run_levels"]
