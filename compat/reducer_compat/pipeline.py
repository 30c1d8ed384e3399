"""Where the passes run: around six passes of TileLang that every release has, and one of most.

before AddWrapperForSingleBufStore   collect, check, plan, stores, carry, values
around ProducerConsumerWarpSpecialized
                                     consumers (from 0.1.9 on)
after  LayoutInference               transfers, participants, project, guard, settle
after  LowerTileOp                   emit, packed, occupancy, prove (what the plan became, and the
                                     plan where that says too little), residue, registers,
                                     producers, turns, epilogue
around FlattenBuffer                 flatten; registers and producers, where TileLang tells warps
                                     apart only after LowerTileOp
around HoistIfThenElse               hoist
before MakePackedAPI                 arrivals, synchronous, waits, barriers

Around all of them (`retry`): a kernel that TileLang loses a part of is lowered in another way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from reducer_compat import ladder, tree
from reducer_compat.adapter import (
    FIRST_PASS,
    FLATTEN_PASS,
    HOIST_PASS,
    INFERENCE_PASS,
    LAST_PASS,
    LOWER_PASS,
    SPECIALIZE_PASS,
    adapter,
)
from reducer_compat.draft import draft
from reducer_compat.errors import NarrowError, ReducerError, UncountedWarning, said
from reducer_compat.ladder import Feature
from reducer_compat.once import answers_kept
from reducer_compat.passes.admit import admit
from reducer_compat.passes.arrivals import refuse_crowded, refuse_unending
from reducer_compat.passes.barriers import separate
from reducer_compat.passes.carry import carry
from reducer_compat.passes.check import check
from reducer_compat.passes.collect import collect
from reducer_compat.passes.consumers import freed, held, refuse_withheld, withheld
from reducer_compat.passes.copies import refuse_interleaved, refuse_misaligned
from reducer_compat.passes.emit import emit
from reducer_compat.passes.epilogue import has_turns, write_out
from reducer_compat.passes.flatten import hide_changed, is_doubtful
from reducer_compat.passes.foresee import foresee
from reducer_compat.passes.guard import guard, rebase
from reducer_compat.passes.hoist import is_ssa, loses_an_arm, with_own_variables
from reducer_compat.passes.launches import each, ours
from reducer_compat.passes.native import choose, to_native
from reducer_compat.passes.nests import refuse_nested
from reducer_compat.passes.normalize import normalize
from reducer_compat.passes.occupancy import crowded
from reducer_compat.passes.packed import packed
from reducer_compat.passes.participants import narrowed
from reducer_compat.passes.plan import forced_wide, plan
from reducer_compat.passes.producers import leave_issuing
from reducer_compat.passes.project import project
from reducer_compat.passes.prove import (
    Verdict,
    forget,
    intend,
    intended,
    keep,
    prove,
    remember,
    tag,
)
from reducer_compat.passes.recognize import uses_reducers
from reducer_compat.passes.registers import share_registers
from reducer_compat.passes.residue import residue
from reducer_compat.passes.settle import settled
from reducer_compat.passes.sites import find_sites, is_fragment, is_tile
from reducer_compat.passes.specialized import is_specialized, refuse_divided_warps
from reducer_compat.passes.split import refuse_divided
from reducer_compat.passes.stores import by_threads
from reducer_compat.passes.synchronous import through_registers
from reducer_compat.passes.transfers import refuse_small
from reducer_compat.passes.turns import part_turns
from reducer_compat.passes.unpipeline import unpipeline
from reducer_compat.passes.values import in_registers
from reducer_compat.passes.waits import set_waits

#: On a kernel between `carry` and `residue`: the number of its participants.
ATTRIBUTE = "reducer_compat.threads"


class SplicedPass:
    """A pass of TileLang with ours before or after it; kernels without reducers see only it."""

    def __init__(self, original: Any, around: Callable[[Any, Any], Any]) -> None:
        self._original = original
        self._around = around

    def __call__(self, mod: Any) -> Any:
        return self._around(self._original, mod)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def prepare(original: Any, mod: Any) -> Any:
    """Lower the markers of every kernel in `mod`, then run the first pass."""
    mine = [(name, func) for name, func in tree.kernels(mod) if uses_reducers(func)]
    ladder.lower_all(tuple(str(name.name_hint) for name, _ in mine))
    for name, func in mine:
        mod = _updated(mod, name, each(func, lower_markers, uses_reducers))
    return original(mod)


def lower_markers(func: Any) -> Any:
    """From collect to values, on one kernel; what it said stays with it for the proof.

    Where mode auto leaves it to TileLang's own reducers, it becomes theirs instead.
    """
    if ladder.gave_up(Feature.PIPELINED):
        func = unpipeline(func)
    collected = collect(func)
    check(collected)
    foresee(func, collected)
    refuse_nested(func, collected)
    func = normalize(func)
    tagged = tag(func)
    sites = find_sites(tagged)
    admit(tagged, collected, sites)
    if choose(func, collected, sites):
        return to_native(func, collected)
    if adapter().stores_in_bulk:
        tagged = by_threads(tagged)
    carried = carry(tagged, collected, sites, plan(collected, sites))
    if collected.pipelined:
        carried = in_registers(carried, collected.kernel)
    return keep(carried.with_attr(ATTRIBUTE, collected.threads), tagged.body)


def around_specializing(original: Any, mod: Any) -> Any:
    """Specialize warps, and once more where producers were given what only consumers use."""
    done = original(mod)
    mine = [name for name, func in tree.kernels(mod) if ours(func)]
    changed = [name for name in mine if not done[name].body.same_as(mod[name].body)]
    lost = {name: names for name in changed if (names := withheld(done[name]))}
    if not lost:
        return done
    for name, names in lost.items():
        mod = _updated(mod, name, held(mod[name], names))
    done = original(mod)
    for name in lost:
        done = _updated(done, name, freed(done[name]))
    return done


def after_inference(original: Any, mod: Any) -> Any:
    """Run layout inference, and guard what waited for it: then the kernel is planned."""
    mine = [name for name, func in tree.kernels(mod) if ours(func)]
    if not mine:
        return original(mod)
    mod = _explained(original, mod, mine)
    for name in mine:
        mod = _updated(mod, name, each(mod[name], _inferred, ours))
    return mod


def _inferred(func: Any) -> Any:
    name = str(func.attrs["global_symbol"])
    participants = int(func.attrs[ATTRIBUTE])
    refuse_withheld(func, name)
    refuse_small(func, name, participants)
    refuse_divided(func, name, participants)
    return intend(settled(guard(project(narrowed(func)))))


def after_lowering(original: Any, mod: Any) -> Any:
    """Run `LowerTileOp`, write out what waited, count it, and see that nothing is left."""
    mine = [name for name, func in tree.kernels(mod) if ours(func)]
    if not mine:
        return original(mod)
    for name in mine:
        mod = _updated(mod, name, rebase(mod[name]))
    try:
        mod = _explained(original, mod, mine)
    except ReducerError:
        for name in mine:
            each(mod[name], _as_intended, ours)
        raise
    for name in mine:
        with answers_kept():
            mod = _updated(mod, name, _seen_to(mod[name], str(name.name_hint)))
    return mod


def _seen_to(func: Any, kernel: str) -> Any:
    """A kernel after `LowerTileOp`, as it goes on from there."""
    begun = draft(func)
    refuse_misaligned(begun, kernel)
    if adapter().interleaves_stages:
        refuse_interleaved(begun, kernel)
    return each(begun, _lowered, ours)


def _lowered(func: Any) -> Any:
    func = crowded(packed(emit(func)))
    verdict = _judged(func)
    if not verdict.counted:
        warnings.warn(str(verdict), UncountedWarning, stacklevel=2)
    # Names are all that `forget` takes away, and whoever looks for them looks at every statement.
    specialized, turns = is_specialized(residue(func)), has_turns(func)
    func = forget(func)
    if specialized:
        func = part_turns(_parted(func))
    return (write_out(func) if turns else func).without_attr(ATTRIBUTE)


def _parted(func: Any) -> Any:
    """A warp-specialized kernel with its producers and consumers as they should be.

    Raises:
        UnfitError: TileLang cannot keep these apart.
    """
    refuse_divided_warps(func, str(func.attrs["global_symbol"]))
    return leave_issuing(share_registers(func))


def around_flattening(original: Any, mod: Any) -> Any:
    """Flatten buffers, and once more without the indices of our kernels that this made wrong.

    By now warps are told apart on every release.

    Raises:
        UnfitError: a kernel would hang.
    """
    if adapter().pipelines_late:
        for name, func in _with_reducers(mod):
            mod = _updated(mod, name, each(func, _parted_late))
    doubted = [name for name, func in _with_reducers(mod) if is_doubtful(func)]
    flat = original(mod)
    kept = mod
    for name in doubted:
        func = hide_changed(mod[name], flat[name])
        if not func.same_as(mod[name]):
            kept = _updated(kept, name, func)
    return flat if kept is mod else original(kept)


def _parted_late(func: Any) -> Any:
    refuse_crowded(func, str(func.attrs["global_symbol"]))
    return _parted(func) if is_specialized(func) else func


def around_hoisting(original: Any, mod: Any) -> Any:
    """Take conditions out of loops, but for our kernels that would lose something by it, and
    with each variable of ours made once: TileLang has copied loops by now."""
    kept = {}
    for name, func in _with_reducers(mod):
        if not is_ssa(func):
            func = with_own_variables(func)
            mod = _updated(mod, name, func)
        if loses_an_arm(func):
            kept[name] = func
    done = original(mod)
    for name, func in kept.items():
        done = _updated(done, name, func)
    return done


def before_packing(original: Any, mod: Any) -> Any:
    """See what kernels with reducers wait for on the device: for somebody, for no more copies
    than they read, and for what another thread does to the same bytes.

    Raises:
        UnfitError: for nobody, or for a copy that cannot be made.
        CopyError: a barrier for threads that do not come to it.
        ReducerError: the same, without TMA.
    """
    here = adapter()
    for name, func in _with_reducers(mod):
        if here.forgets_arrivals:
            refuse_unending(func, str(name.name_hint))
        awaited = through_registers(func, str(name.name_hint)) if here.copies_elements else func
        awaited = set_waits(awaited) if here.waits_by_stages else awaited
        awaited = separate(awaited, str(name.name_hint))
        if awaited is not func:
            mod = _updated(mod, name, awaited)
    return original(mod)


def _with_reducers(mod: Any) -> list[tuple[Any, Any]]:
    """The functions of a module that have reducers, or are made of such for the device."""
    return [(name, func) for name, func in tree.kernels(mod) if ladder.lowers(str(name.name_hint))]


def _as_intended(func: Any) -> Any:
    """`func`, with what was planned of it counted."""
    remember(_counted(intended(func), "planned"))
    return func


def _judged(func: Any) -> Verdict:
    """Count what became of a kernel.

    That every contribution is in it once says as much of the plan. Where it does not say so, the
    plan is counted, too: what is wrong with that comes first.

    Raises:
        NarrowError: a count failed, or could not be made, and wide plans were not tried.
        ReducerError: one failed with wide plans, too.
    """
    try:
        verdict = _counted(func, "lowered")
    except ReducerError:
        _as_intended(func)
        raise
    if not verdict.counted:
        _as_intended(func)
        if not _is_wide():
            raise NarrowError("RC006", "; ".join(verdict.notes), kernel=verdict.kernel)
    remember(verdict)
    return verdict


def _is_wide() -> bool:
    """Whether plans are wide already: a narrower one was given up, or the user asked for it."""
    return ladder.gave_up(Feature.NARROW) or forced_wide()


def _counted(func: Any, stage: str) -> Verdict:
    """Count a kernel at a stage.

    Raises:
        NarrowError: the count failed, and wide plans were not tried.
        ReducerError: it failed with wide plans, too.
    """
    try:
        return prove(func, stage, ladder.notes())
    except ReducerError as error:
        if _is_wide():
            raise
        raise NarrowError.after(error) from error


#: What runs around which pass.
SPLICES: dict[str, Callable[[Any, Any], Any]] = {
    FIRST_PASS: prepare,
    SPECIALIZE_PASS: around_specializing,
    INFERENCE_PASS: after_inference,
    LOWER_PASS: after_lowering,
    FLATTEN_PASS: around_flattening,
    HOIST_PASS: around_hoisting,
    LAST_PASS: before_packing,
}


def spliced(factory: Callable[..., Any], around: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A pass factory whose passes run `around`."""

    def make(*args: Any, **kwargs: Any) -> SplicedPass:
        return SplicedPass(factory(*args, **kwargs), around)

    make.__name__ = getattr(factory, "__name__", "make")
    make.__doc__ = factory.__doc__
    make.__wrapped__ = factory  # type: ignore[attr-defined]
    return make


def _updated(mod: Any, name: Any, func: Any) -> Any:
    """A module with another function under one of its names."""
    functions = {one: func if one.same_as(name) else other for one, other in mod.functions.items()}
    return adapter().tvm.IRModule(functions, attrs=mod.attrs)


def _explained(original: Any, mod: Any, mine: list[Any]) -> Any:
    """Run a pass of TileLang; where it fails, say for which kernel and what it was given."""
    try:
        return original(mod)
    except ReducerError:
        raise
    except Exception as error:
        kernels = ", ".join(str(name.name_hint) for name in mine)
        tiles = "; ".join(filter(None, (_tiles(mod[name]) for name in mine)))
        raise ReducerError(
            "RC003",
            f"TileLang cannot lay out the other operations of this kernel: "
            f"{said(error)}. Tiles: {tiles or 'none'}, on "
            f"{', '.join(_threads(mod[name]) for name in mine)} threads",
            kernel=kernels,
            fix=_way_out(said(error)),
        ) from error


def _way_out(reason: str) -> str:
    if "indices" in reason:
        return "read a fragment by one index in each loop, or copy it to shared memory first"
    return "use tiles, and copies, that divide among the threads, or shared memory for the fragment"


def _threads(func: Any) -> str:
    """The thread count of a kernel, as the launch says it."""
    launch = tree.thread_launch(func.body)
    return "unknown" if launch is None else str(launch.value)


def _tiles(func: Any) -> str:
    """The fragments and shared tiles of a kernel, with their shapes: TileLang lays out each."""
    tiles = (b for b in tree.allocated(tree.walk(func.body)) if is_fragment(b) or is_tile(b))
    return ", ".join(
        f"{'fragment' if is_fragment(b) else 'shared'} "
        f"{b.name}[{', '.join(str(e) for e in b.shape)}]"
        for b in tiles
    )
