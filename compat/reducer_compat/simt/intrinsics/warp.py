"""Warps: shuffles, votes, elections and the thread numbers made from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import Array, parse
from ..expr import constant
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .math import count_bits
from .registry import Extern, extern, op

if TYPE_CHECKING:
    from ..compile import Compiler

Source = Callable[[Array, Any, Any], Any]
"""From a lane's number in its warp, the operand and the width: the lane it reads, -1 for itself."""


def exchange(wave: Wave, values: Any, partner: Array, what: str = "shuffles with") -> Any:
    """`values` of other threads of the block: `partner` is a thread number for each lane."""
    full = np.broadcast_to(values, (wave.n, *np.shape(values)[1:]))
    threads = wave.m.threads
    wanted = wave.block * threads + partner
    at = np.searchsorted(wave.lanes, wanted)
    at_safe = np.minimum(at, wave.n - 1)
    there = (wave.lanes[at_safe] == wanted) & (partner >= 0) & (partner < threads)
    if not there.all():
        wave.m.fault(
            wave,
            "inactive-lane",
            ~there,
            lambda p, e: (
                f"thread {int(wave.tid[p])} {what} thread {int(partner[p])}, which is not here"
            ),
        )
        at_safe = np.where(there, at_safe, np.arange(wave.n))
    return full[at_safe]


def _partner(wave: Wave, source: Source, operand: Any, width: Any) -> Array:
    lane = wave.tid % wave.m.warp
    chosen = source(lane, np.asarray(operand, np.int64), np.asarray(width, np.int64))
    return np.where(chosen < 0, wave.tid, wave.tid - lane + chosen)


def _xor(lane: Array, operand: Any, width: Any) -> Any:
    other = lane ^ operand
    return np.where(other // width <= lane // width, other, -1)


def _down(lane: Array, operand: Any, width: Any) -> Any:
    other = lane + operand
    return np.where(other // width == lane // width, other, -1)


def _up(lane: Array, operand: Any, width: Any) -> Any:
    other = lane - operand
    return np.where((other >= 0) & (other // width == lane // width), other, -1)


def _index(lane: Array, operand: Any, width: Any) -> Any:
    return lane // width * width + operand % width


_SHUFFLES: dict[str, Source] = {"xor": _xor, "down": _down, "up": _up, "": _index}


def shuffle(wave: Wave, kind: str, values: Any, operand: Any, width: Any = None) -> Any:
    """`__shfl_<kind>_sync` over the full mask, in groups of `width` lanes (None: the warp)."""
    within = wave.m.warp if width is None else width
    return exchange(wave, values, _partner(wave, _SHUFFLES[kind], operand, within))


def _shuffle_value(c: Compiler, kind: str, mask: Any, args: Any) -> Value:
    _full_mask(c, mask)
    value, operand = c.expr(args[0]), c.expr(args[1])
    width = c.expr(args[2]) if len(args) > 2 else (lambda w: w.m.warp)
    return lambda w: shuffle(w, kind, value(w), operand(w), width(w))


def _full_mask(c: Compiler, mask: Any) -> None:
    number = constant(mask)
    if number is not None and number & 0xFFFFFFFF != 0xFFFFFFFF:
        raise UnsupportedError(f"a shuffle or vote over the lane mask {number:#x}")
    if number is None and not (
        type(mask).__name__ == "Call"
        and c.tir.op_name(mask) in ("tvm_warp_activemask", "tl.activemask")
    ):
        raise UnsupportedError(f"a shuffle or vote over the lane mask {mask}")


def _kind(name: str) -> str:
    """The kind of a shuffle from its name: `__shfl_xor_sync` is `xor`, `tvm_warp_shuffle` is ``."""
    return next((kind for kind in ("xor", "down", "up") if f"_{kind}" in name), "")


@op(
    *(f"tl.shfl{k}_sync" for k in ("_xor", "_down", "_up", "")),
    *(f"tvm_warp_shuffle{k}" for k in ("_down", "_up", "")),
)
def _shuffle_op(c: Compiler, node: Any) -> Value:
    return _shuffle_value(c, _kind(c.tir.op_name(node)), node.args[0], node.args[1:4])


@extern(*(f"{p}shfl{k}_sync" for p in ("__", "tl::") for k in ("_xor", "_down", "_up", "")))
def _shuffle_extern(c: Compiler, call: Extern) -> Value:
    return _shuffle_value(c, _kind(call.name), call.args[0], call.args[1:])


@op("tvm_warp_activemask", "tl.activemask")
def _activemask(c: Compiler, node: Any) -> Value:
    dtype = parse(str(node.dtype)).numpy
    return lambda w: _ballot(w, np.bool_(True)).astype(dtype)


def _ballot(wave: Wave, predicate: Any) -> Array:
    truth = np.broadcast_to(np.asarray(predicate) != 0, (wave.n,))
    warp = wave.block * wave.m.clocks.agents + wave.party.agent
    bits: Array = np.zeros(wave.m.blocks * wave.m.clocks.agents, np.uint64)
    shift = (wave.tid % wave.m.warp).astype(np.uint64)
    np.bitwise_or.at(bits, warp, truth.astype(np.uint64) << shift)
    mine: Array = bits[warp]
    return mine


@op("tl.ballot_sync", "tl.ballot")
def _ballot_op(c: Compiler, node: Any) -> Value:
    if len(node.args) > 1:
        _full_mask(c, node.args[0])
    predicate, dtype = c.expr(node.args[-1]), parse(str(node.dtype)).numpy
    return lambda w: _ballot(w, predicate(w)).astype(dtype)


def _any_all(c: Compiler, args: Any, dtype: str, want_all: bool) -> Value:
    if len(args) > 1:
        _full_mask(c, args[0])
    predicate, kind = c.expr(args[-1]), parse(dtype).numpy

    def run(w: Wave) -> Any:
        yes = _ballot(w, predicate(w))
        return (yes == _ballot(w, np.bool_(True)) if want_all else yes != 0).astype(kind)

    return run


@op("tl.any_sync", "tl.all_sync")
def _vote(c: Compiler, node: Any) -> Value:
    return _any_all(c, node.args, str(node.dtype), c.tir.op_name(node) == "tl.all_sync")


@extern("__any_sync", "__all_sync")
def _vote_extern(c: Compiler, call: Extern) -> Value:
    return _any_all(c, call.args, call.dtype, call.name == "__all_sync")


@extern("__ballot_sync")
def _ballot_extern(c: Compiler, call: Extern) -> Value:
    _full_mask(c, call.args[0])
    predicate, dtype = c.expr(call.args[1]), parse(call.dtype).numpy
    return lambda w: _ballot(w, predicate(w)).astype(dtype)


@extern("__activemask")
def _activemask_extern(c: Compiler, call: Extern) -> Value:
    dtype = parse(call.dtype).numpy
    return lambda w: _ballot(w, np.bool_(True)).astype(dtype)


@op("tl.match_any_sync")
def _match_any(c: Compiler, node: Any) -> Value:
    _full_mask(c, node.args[0])
    value, dtype = c.expr(node.args[1]), parse(str(node.dtype)).numpy

    def run(w: Wave) -> Any:
        mine = np.broadcast_to(value(w), (w.n,))
        warp = w.block * w.m.clocks.agents + w.party.agent
        keys = np.stack([warp.astype(np.float64), mine.astype(np.float64)])
        group = np.unique(keys, axis=1, return_inverse=True)[1]
        bits = np.zeros(w.n, np.uint64)
        np.bitwise_or.at(
            bits, group.reshape(-1), np.uint64(1) << (w.tid % w.m.warp).astype(np.uint64)
        )
        return bits[group.reshape(-1)].astype(dtype)

    return run


# -- thread numbers -------------------------------------------------------------------------------


@op("tl.tl_shuffle_elect")
def _elect(c: Compiler, node: Any) -> Value:
    extent = constant(node.args[0])
    if extent is None:
        raise UnsupportedError("an election over a computed number of threads")

    def run(w: Wave) -> Any:
        warps = max(extent // w.m.warp, 1)
        lead = w.tid % w.m.warp == 0
        return lead & (w.tid < w.m.warp if extent == 0 else w.tid // w.m.warp % warps == 0)

    return run


@op("tl.get_lane_idx", "tl.get_warp_idx", "tl.get_warp_idx_sync", "tl.get_warp_group_idx")
def _thread_number(c: Compiler, node: Any) -> Value:
    sizes = [constant(a) for a in node.args]
    name, size = c.tir.op_name(node), (sizes[0] if sizes and sizes[0] else 32)
    group = size * (sizes[1] if len(sizes) > 1 and sizes[1] else 4)
    if name == "tl.get_lane_idx":
        return lambda w: (w.tid % size).astype(np.int32)
    divisor = group if name == "tl.get_warp_group_idx" else size
    return lambda w: (w.tid // divisor).astype(np.int32)


__all__ = ["count_bits", "exchange", "shuffle"]
